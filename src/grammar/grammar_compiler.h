#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "grammar/compiled_grammar.h"
#include "grammar/grammar_source.h"

namespace kvasir::grammar {

// The grammar of a source, independent of any vocabulary.
base::Result<Grammar> grammar_of(const GrammarSource& source);

// Compiles grammars for one vocabulary, and keeps the most recently used ones. Thread-safe. If several
// threads want the same source, one compiles it and the others wait. Compiling takes milliseconds, so it must
// not run on the engine's thread.
class GrammarCompiler {
 public:
  struct Limits {
    std::size_t max_source_bytes = std::size_t{1} << 20;
    std::size_t max_grammars = 64;
    GrammarLimits grammar = {};
  };

  explicit GrammarCompiler(std::shared_ptr<const TokenTrie> trie)
      : GrammarCompiler(std::move(trie), Limits{}) {}
  GrammarCompiler(std::shared_ptr<const TokenTrie> trie, Limits limits);

  base::Result<std::shared_ptr<CompiledGrammar>> compile(const GrammarSource& source);
  // Whether `compile` would return at once.
  bool is_compiled(const GrammarSource& source) const;

  struct Stats {
    std::uint64_t num_compiled = 0;
    std::uint64_t num_reused = 0;
  };
  Stats stats() const;

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<CompiledGrammar> grammar;  // null while it is being compiled
  };
  using Entries = std::list<Entry>;

  base::Result<std::shared_ptr<CompiledGrammar>> make(const GrammarSource& source) const;

  std::shared_ptr<const TokenTrie> trie_;
  Limits limits_;
  mutable std::mutex mutex_;
  std::condition_variable compiled_;
  Entries entries_;                                           // guarded by mutex_; most recent first
  std::unordered_map<std::string, Entries::iterator> index_;  // guarded by mutex_
  Stats stats_;                                               // guarded by mutex_
};

}  // namespace kvasir::grammar
