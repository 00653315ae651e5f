#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "grammar/compiled_grammar.h"

namespace kvasir::grammar {

// Where one sequence stands in its grammar. A value: a copy goes its own way, which is what `n` choices and
// speculation need. One thread at a time; copies may be on different threads.
//
// An error of any call means that the grammar was too expensive: the request fails, nothing else does. The
// position is then as it was before the call.
class Matcher {
 public:
  static constexpr std::size_t kMaxRollback = 128;

  explicit Matcher(std::shared_ptr<CompiledGrammar> grammar);

  // Goes on by a token's bytes, or by an end token. False where the grammar does not allow it; nothing
  // changes then.
  base::Result<bool> accept(TokenId token);
  // The same for text that came without a token; one step for `rollback`.
  base::Result<bool> accept_bytes(std::string_view bytes);
  // Takes back the last `num_steps` accepted tokens, at most kMaxRollback.
  void rollback(std::size_t num_steps);

  // One bit a token, the lowest bit first; bits past the vocabulary are cleared. End tokens are allowed
  // exactly where the grammar is complete. After an end token nothing is.
  base::Status fill_mask(std::span<std::uint32_t> bits);

  // The text so far is a whole match, though it may have a longer continuation.
  bool is_complete() const { return history_.back().complete; }
  // An end token was accepted.
  bool is_ended() const { return history_.back().ended; }

  // The bytes that must come next, up to `max_bytes`; empty where there is a choice. The caller's tokenizer
  // turns them into tokens.
  base::Result<std::string> forced_bytes(std::size_t max_bytes = 256);
  // The only token that may come next, where there is only one: it can be emitted without sampling.
  base::Result<std::optional<TokenId>> forced_token();
  // Tokens that can be taken as known without sampling: the forced bytes as the model would cut them. The
  // last of them is left to the sampler, since a longer token might begin with it, unless nothing can follow.
  base::Result<std::vector<TokenId>> forced_tokens(std::size_t max_tokens);
  // Complete, and nothing but the end may come.
  base::Result<bool> must_end();

  std::size_t num_mask_words() const { return grammar_->trie().num_mask_words(); }
  // That `rollback` can take back.
  std::size_t num_steps() const { return history_.size() - 1; }

 private:
  struct Point {
    ConfigId config;
    bool complete;
    bool ended;
  };
  using Generation = CompiledGrammar::Generation;

  // Runs `f(generation)` under its lock and within the sequence's work, and once more in a new generation
  // where the old one was full. `f` says whether it got through.
  template <class F>
  base::Status with_generation(F f);
  base::Status move_to_new_generation();
  void push(const Point& point);

  std::shared_ptr<CompiledGrammar> grammar_;
  std::shared_ptr<Generation> generation_;
  std::deque<Point> history_;  // the newest last; never empty
  std::int64_t work_left_;
};

}  // namespace kvasir::grammar
