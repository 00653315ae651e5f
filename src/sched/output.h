#pragma once

#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "grammar/matcher.h"
#include "wire/generate_request.h"
#include "wire/token_event.h"

// What output tokens mean for the request that they answer. The scheduler goes by it for tokens that it
// appends, and `replay_output` for those that another worker appended.
namespace kvasir::sched {

struct TakenToken {
  std::optional<wire::FinishReason> finish;  // set if the token ends the output
  bool is_text = true;                       // false: it only says that the output ends, and is not sent
};

// The next token after `num_output` others. Advances the matcher, which is null without a grammar. An error
// if the grammar does not allow the token, or was too expensive.
base::Result<TakenToken> take_token(const wire::GenerateRequest& request, grammar::Matcher* matcher,
                                    int num_output, TokenId token);

// Tokens that follow a sampled one and that the grammar leaves no choice about, so that they are fed in one
// step and never sampled. None if the request wants logprobs: those exist for sampled tokens alone.
base::Result<std::vector<TokenId>> forced_tokens(const wire::GenerateRequest& request,
                                                 grammar::Matcher* matcher);
// Whether the grammar allows nothing more.
base::Result<bool> must_end(grammar::Matcher* matcher);

}  // namespace kvasir::sched
