#include "sched/resumption.h"

#include <utility>

#include "sched/output.h"

namespace kvasir::sched {

namespace {

class Replay {
 public:
  explicit Replay(const wire::GenerateRequest& request) : request_(request) {
    if (request.grammar) state_.matcher = std::make_unique<grammar::Matcher>(request.grammar);
  }

  base::Result<Resumption> run() {
    while (num_taken_ < request_.resumed.size()) {
      TRY_OK(take(request_.resumed[num_taken_]));
      TRY_OK(take_forced());
    }
    return std::move(state_);
  }

 private:
  bool is_given() const { return num_taken_ < request_.resumed.size(); }

  base::Status take(TokenId token) {
    if (state_.finish)
      return base::error(base::ErrorCode::invalid_argument,
                         "the output to resume has {} tokens, but was whole after {}",
                         request_.resumed.size(), num_taken_);
    const base::Result<TakenToken> taken =
        take_token(request_, state_.matcher.get(), static_cast<int>(num_taken_), token);
    if (!taken.ok())
      return base::error(base::ErrorCode::invalid_argument, "the output cannot be resumed: {}",
                         taken.error().message);
    if (!taken->is_text && is_given())
      return base::error(base::ErrorCode::invalid_argument, "the output to resume has the end token {} in it",
                         token);
    if (taken->is_text && !is_given()) state_.forced.push_back(token);
    state_.finish = taken->finish;
    ++num_taken_;
    return base::ok();
  }

  base::Status take_forced() {
    if (state_.finish) return base::ok();
    TRY(const std::vector<TokenId> forced, forced_tokens(request_, state_.matcher.get()));
    for (const TokenId token : forced) {
      // Another build may have split the forced text into other tokens. The tokens that it has sent stay.
      if (is_given() && request_.resumed[num_taken_] != token) return base::ok();
      TRY_OK(take(token));
      if (state_.finish) return base::ok();
    }
    TRY(const bool over, must_end(state_.matcher.get()));
    if (over) state_.finish = wire::FinishReason::stop;
    return base::ok();
  }

  const wire::GenerateRequest& request_;
  Resumption state_;
  std::size_t num_taken_ = 0;  // resumed tokens, then forced ones
};

}  // namespace

base::Result<Resumption> replay_output(const wire::GenerateRequest& request) {
  return Replay(request).run();
}

}  // namespace kvasir::sched
