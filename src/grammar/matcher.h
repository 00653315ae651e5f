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

// The position of one sequence in its grammar. A value: copies are independent, as `n` choices and
// speculation need. Used by one thread at a time; copies may be on different threads.
// An error of any call means that the grammar was too expensive. Only this request fails, and the position is
// as it was before the call.
class Matcher {
 public:
  static constexpr std::size_t kMaxRollback = 128;

  explicit Matcher(std::shared_ptr<CompiledGrammar> grammar);

  // Advances by a token's bytes, or by an end token. If the grammar does not allow it, returns false and
  // changes nothing.
  base::Result<bool> accept(TokenId token);
  // As above, for text without a token. `rollback` counts it as one step.
  base::Result<bool> accept_bytes(std::string_view bytes);
  // Undoes the last `num_steps` accepted tokens, at most kMaxRollback.
  void rollback(std::size_t num_steps);

  // Sets one bit per token, lowest bit first; bits beyond the vocabulary are cleared. End tokens are allowed
  // exactly if the grammar is complete. After an end token nothing is allowed.
  base::Status fill_mask(std::span<std::uint32_t> bits);

  // Whether the text so far is a whole match. It may still have a longer continuation.
  bool is_complete() const { return history_.back().complete; }
  // Whether an end token was accepted.
  bool is_ended() const { return history_.back().ended; }

  // The bytes that must come next, up to `max_bytes`; empty if there is a choice. The caller's tokenizer
  // turns them into tokens.
  base::Result<std::string> forced_bytes(std::size_t max_bytes = 256);
  // The only token that may come next, if there is only one. It can be emitted without sampling.
  base::Result<std::optional<TokenId>> forced_token();
  // Tokens that can be appended without sampling: the forced bytes, split as the model would split them. The
  // last token is left to the sampler, since a longer one might begin with it, unless nothing can follow.
  base::Result<std::vector<TokenId>> forced_tokens(std::size_t max_tokens);
  // Whether the text is complete and nothing but the end may come.
  base::Result<bool> must_end();

  std::size_t num_mask_words() const { return grammar_->trie().num_mask_words(); }
  // The number of steps that `rollback` can undo.
  std::size_t num_steps() const { return history_.size() - 1; }

 private:
  struct Point {
    ConfigId config;
    bool complete;
    bool ended;
  };
  using Generation = CompiledGrammar::Generation;

  // Runs `f(generation)` under its lock and within the sequence's work limit. If the generation is full, runs
  // it once more in a new one. `f` returns whether it succeeded.
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
