#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/result.h"
#include "grammar/mask_table.h"
#include "grammar/pushdown.h"
#include "grammar/token_trie.h"

namespace kvasir::grammar {

// Bounds on what one grammar may cost. Meeting one is an error of the request that brought the grammar.
struct GrammarLimits {
  std::size_t max_states = 300'000;
  std::size_t max_configuration_bytes = std::size_t{24} << 20;
  std::size_t max_mask_bytes = std::size_t{16} << 20;
  std::size_t max_items = 4000;
  // Work of one sequence, in units of about 5 ns: a reserve that each accepted token refills. The reserve
  // bounds one call (4 M: about 20 ms), the refill the average.
  std::int64_t work_reserve = 4'000'000;
  std::int64_t work_per_token = 400'000;
  // Of the walks over the vocabulary while compiling: one for each kind of loop, about 10 ms on 150 K tokens.
  std::chrono::milliseconds max_compile_time{2000};
};

// A grammar over one vocabulary, ready to match; shared by every sequence that uses it, of this request and
// of later ones. What matching finds out is kept here for all of them. Thread-safe: matchers of one grammar
// take turns.
class CompiledGrammar {
 public:
  // Takes milliseconds on a large vocabulary; not for the engine's thread.
  static base::Result<std::shared_ptr<CompiledGrammar>> create(const Grammar& grammar,
                                                               std::shared_ptr<const TokenTrie> trie,
                                                               GrammarLimits limits = {});

  // One lifetime of the shared findings. When they have grown to their limit, a matcher begins a new one and
  // takes only its own place along; the old one dies with its last matcher.
  struct Generation {
    Generation(const CompiledGrammar& grammar);
    std::mutex mutex;  // guards the rest
    Pushdown pushdown;
    MaskTable masks;
  };
  std::shared_ptr<Generation> generation();
  // One that is newer than `old`.
  std::shared_ptr<Generation> renew(const std::shared_ptr<Generation>& old);

  const TokenTrie& trie() const { return *trie_; }
  const GrammarLimits& limits() const { return limits_; }
  const Automaton& automaton() const { return *automaton_; }

 private:
  CompiledGrammar(std::shared_ptr<const Automaton> automaton, std::shared_ptr<const TokenTrie> trie,
                  GrammarLimits limits)
      : automaton_(std::move(automaton)), trie_(std::move(trie)), limits_(limits) {}

  std::shared_ptr<const Automaton> automaton_;
  std::shared_ptr<const TokenTrie> trie_;
  GrammarLimits limits_;
  std::mutex mutex_;
  std::shared_ptr<Generation> generation_;  // guarded by mutex_
};

}  // namespace kvasir::grammar
