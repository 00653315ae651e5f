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

struct GrammarSource;

// Bounds on the cost of one grammar. Exceeding one is an error of the request that has the grammar.
struct GrammarLimits {
  std::size_t max_states = 300'000;
  std::size_t max_configuration_bytes = std::size_t{24} << 20;
  std::size_t max_mask_bytes = std::size_t{16} << 20;
  std::size_t max_items = 4000;
  // The work allowed for one sequence, in units of about 5 ns; a large vocabulary raises it. Each accepted
  // token refills a reserve. The reserve bounds one call (4 M: about 20 ms), and the refill bounds the
  // average.
  std::int64_t work_reserve = 4'000'000;
  std::int64_t work_per_token = 400'000;
  // Work that is spent on masks while compiling, so that the first tokens need not wait for them.
  std::int64_t warm_up_work = 300'000;
  // Bounds the walks over the vocabulary while compiling: one for each kind of loop, about 10 ms each for
  // 150,000 tokens.
  std::chrono::milliseconds max_compile_time{2000};
};

// A grammar compiled for one vocabulary. All sequences with this grammar share it, across requests, and so
// share what matching has computed. Thread-safe: matchers of one grammar take turns.
class CompiledGrammar {
 public:
  // Takes milliseconds for a large vocabulary, so it must not run on the engine's thread. `source` is kept so
  // that the grammar can be compiled again elsewhere.
  static base::Result<std::shared_ptr<CompiledGrammar>> create(
      const Grammar& grammar, std::shared_ptr<const TokenTrie> trie, GrammarLimits limits = {},
      std::shared_ptr<const GrammarSource> source = nullptr);

  // The shared results of matching. When they reach their size limit, a matcher starts a new generation and
  // takes only its own position along. The old one is destroyed with its last matcher.
  struct Generation {
    Generation(const CompiledGrammar& grammar);
    std::mutex mutex;  // guards the other members
    Pushdown pushdown;
    MaskTable masks;
  };
  std::shared_ptr<Generation> generation();
  // A generation newer than `old`.
  std::shared_ptr<Generation> renew(const std::shared_ptr<Generation>& old);

  const TokenTrie& trie() const { return *trie_; }
  const GrammarLimits& limits() const { return limits_; }
  const Automaton& automaton() const { return *automaton_; }
  // Notes on what the source asks for and the grammar does not enforce.
  const std::vector<Note>& notes() const { return notes_; }
  // The source of the grammar; null if it was built by hand.
  const std::shared_ptr<const GrammarSource>& source() const { return source_; }

 private:
  CompiledGrammar(std::shared_ptr<const Automaton> automaton, std::shared_ptr<const TokenTrie> trie,
                  GrammarLimits limits)
      : automaton_(std::move(automaton)), trie_(std::move(trie)), limits_(limits) {}

  std::shared_ptr<const Automaton> automaton_;
  std::shared_ptr<const TokenTrie> trie_;
  GrammarLimits limits_;
  std::vector<Note> notes_;
  std::shared_ptr<const GrammarSource> source_;
  std::mutex mutex_;
  std::shared_ptr<Generation> generation_;  // guarded by mutex_
};

}  // namespace kvasir::grammar
