#include "sched/output.h"

#include <algorithm>

namespace kvasir::sched {

namespace {

// Forced tokens appended in one step at most: more would delay text that is already known.
constexpr std::size_t kMaxForcedTokens = 64;

}  // namespace

base::Result<TakenToken> take_token(const wire::GenerateRequest& request, grammar::Matcher* matcher,
                                    int num_output, TokenId token) {
  constexpr TakenToken kEnds{.finish = wire::FinishReason::stop, .is_text = false};
  const bool may_stop = num_output >= request.min_tokens;
  if (may_stop && std::ranges::find(request.stop_tokens, token) != request.stop_tokens.end()) return kEnds;
  if (matcher != nullptr) {
    TRY(const bool accepted, matcher->accept(token));
    if (!accepted) return base::error(base::ErrorCode::internal, "token {} does not fit the grammar", token);
    if (matcher->is_ended()) return kEnds;
  }
  if (num_output + 1 < request.max_tokens) return TakenToken{};
  // An answer that completes its grammar is whole, even if its last token was also the last one allowed.
  const base::Result<bool> is_whole = must_end(matcher);
  const bool is_stop = is_whole.ok() && *is_whole;
  return TakenToken{.finish = is_stop ? wire::FinishReason::stop : wire::FinishReason::length};
}

base::Result<std::vector<TokenId>> forced_tokens(const wire::GenerateRequest& request,
                                                 grammar::Matcher* matcher) {
  if (matcher == nullptr || request.sampling.logprobs) return std::vector<TokenId>{};
  return matcher->forced_tokens(kMaxForcedTokens);
}

base::Result<bool> must_end(grammar::Matcher* matcher) {
  if (matcher == nullptr) return false;
  return matcher->must_end();
}

}  // namespace kvasir::sched
