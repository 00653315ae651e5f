#pragma once

#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "grammar/matcher.h"
#include "wire/generate_request.h"
#include "wire/token_event.h"

// Decides what an output token means for its request. The scheduler uses this for the tokens that it appends,
// and `replay_output` for those that another worker appended.
namespace kvasir::sched {

struct TakenToken {
  std::optional<wire::FinishReason> finish;  // set if the token ends the output
  bool is_text = true;                       // false: the token only ends the output, and is not sent
};

// Takes the token that follows `num_output` others. Advances the matcher, which is null without a grammar.
// Fails if the grammar does not allow the token, or was too expensive.
base::Result<TakenToken> take_token(const wire::GenerateRequest& request, grammar::Matcher* matcher,
                                    int num_output, TokenId token);

// The tokens that the grammar forces after a sampled one: they are fed in one step and never sampled. Empty
// if the request wants logprobs, which exist for sampled tokens only.
base::Result<std::vector<TokenId>> forced_tokens(const wire::GenerateRequest& request,
                                                 grammar::Matcher* matcher);
// Whether the grammar allows nothing more.
base::Result<bool> must_end(grammar::Matcher* matcher);

}  // namespace kvasir::sched
