#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "grammar/loop_slice.h"
#include "grammar/pushdown.h"
#include "grammar/token_trie.h"

namespace kvasir::grammar {

// Computes which tokens a configuration allows. The work is split at the top frame: what a token may do
// inside the current rule is computed once for the rule's states, whatever called it, and only tokens that
// leave the rule are followed into the callers. Results are kept for each configuration. Has the owner and
// the thread of its Pushdown.
class MaskTable {
 public:
  // A mask in parts: masks of slices, words of its own, and single tokens.
  struct Mask {
    std::vector<const std::vector<std::uint32_t>*> slices;
    std::vector<std::uint32_t> words;
    std::vector<TokenId> tokens;
  };

  MaskTable(Pushdown& pushdown, const TokenTrie& trie, std::size_t max_bytes)
      : pushdown_(pushdown), trie_(trie), max_bytes_(max_bytes) {}

  // The mask of a configuration, valid until the next call. Null if a limit was reached (see
  // Pushdown::failure).
  const Mask* find(ConfigId config);

  // Computes the tokens that rules allow at their beginning, in the order of the rules, until the pushdown's
  // work is spent.
  void warm_up();

  // Sets the bits of `mask`, and clears all others.
  void write(const Mask& mask, std::span<std::uint32_t> bits) const;

  std::size_t num_bytes() const { return num_bytes_; }

 private:
  using Item = Pushdown::Item;

  // The tokens that one rule alone allows from some of its states.
  struct Local {
    Mask mask;
    std::vector<std::uint32_t> exits;  // trie nodes with descendants where the rule may have ended
    // The rule may have ended after any of these passes of a loop. This stands for many `exits` without
    // listing them.
    const LoopSlice* loop_exit = nullptr;
    std::uint32_t min_passes = 0;
    std::uint32_t max_passes = 0;
  };
  struct LoopKey {
    StateId state;
    std::uint32_t min_passes;
    std::uint32_t max_passes;
    bool operator==(const LoopKey&) const = default;
  };
  struct LoopKeyHash {
    std::size_t operator()(const LoopKey& key) const {
      return (std::size_t{key.state} * 0x9E3779B97F4A7C15ULL) ^ (std::size_t{key.min_passes} << 32) ^
             (std::size_t{key.max_passes} * 0xBF58476D1CE4E5B9ULL);
    }
  };

  using Exits = std::vector<std::uint32_t>;

  // If `exits` is given, these also find where a rule that is examined alone may have ended (see kBottom).
  bool compute(ConfigId config, Mask& mask, Exits* exits);
  bool add_frame(std::span<const Item> items, Mask& mask, Exits* exits);
  bool add_local(const Local& local, std::span<const Item> items, Mask& mask, Exits* exits);
  const Local* local_of_states(std::span<const Item> items);
  // The configuration of these items without their callers.
  ConfigId intern_alone(std::span<const Item> items);
  const Local* keep_local(ConfigId config, Local local);
  const Local* local_of_loop(const Item& item);
  bool compute_loop(const Item& item, const LoopSlice& slice, Local& local);
  bool leave_loop(ConfigId config, Local& local, Mask& mask, Exits* exits);
  const LoopSlice& slice_of(std::int32_t body);

  // Most states in a string allow almost the same tokens as a loop over characters. So their tokens are found
  // by a walk beside that loop, which skips a subtree once both have come to the same configuration.
  // The usual successor is the configuration that most of the vocabulary leads to, if its tokens come from a
  // slice; else kDead.
  ConfigId usual_successor(ConfigId config);
  bool is_sliced(ConfigId config);
  bool in_endless_loop(std::span<const Item> items) const;
  // Null if there is no usual successor, or if a limit was reached.
  const Local* local_beside(std::span<const Item> items);
  const Local* local_of_usual(ConfigId config);
  bool walk_beside(ConfigId config, const Local& usual_local, ConfigId usual, Local& local);
  // Whether both come to the same configuration within `max_bytes` bytes, whatever the bytes are, and the
  // rule ends in neither of them before. They then differ only inside a character.
  bool will_be_same(ConfigId a, ConfigId b, int max_bytes);

  // Follows `config` through the descendants of `node`. Adds tokens and, if `exits` is given, exits.
  bool walk(std::uint32_t node, ConfigId config, Mask& mask, Exits* exits);
  bool enter(std::uint32_t node, ConfigId config, Mask& mask, Exits* exits);
  void add_token(TokenId token, Mask& mask) const;
  void compact(Mask& mask) const;
  void make_room();

  Pushdown& pushdown_;
  const TokenTrie& trie_;
  std::size_t max_bytes_;
  std::size_t num_bytes_ = 0;
  std::unordered_map<ConfigId, Mask> masks_;
  std::unordered_map<ConfigId, Local> state_locals_;
  std::unordered_map<ConfigId, Local> usual_locals_;  // their masks are words, their exits are sorted
  std::unordered_map<LoopKey, std::unique_ptr<Local>, LoopKeyHash> loop_locals_;  // null: needs a walk
  std::vector<std::shared_ptr<const LoopSlice>> slices_;                          // by loop body
  std::vector<ConfigId> path_;
  std::vector<ConfigId> usual_path_;
  bool in_usual_ = false;
  std::unordered_set<ConfigId> alone_;            // configurations without a usual successor
  std::unordered_map<std::uint64_t, bool> same_;  // by pair of configurations, see will_be_same
};

}  // namespace kvasir::grammar
