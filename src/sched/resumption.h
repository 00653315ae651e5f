#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "grammar/matcher.h"
#include "wire/generate_request.h"
#include "wire/token_event.h"

namespace kvasir::sched {

// Where a request's output stands when the request arrives: at its beginning, or after the tokens that
// another worker has produced (`GenerateRequest::resumed`).
struct Resumption {
  std::unique_ptr<grammar::Matcher> matcher;  // has accepted those tokens; null: no grammar
  // Tokens that the grammar forces right after them, as the other worker would have sent them: the output may
  // have been cut between tokens that come together.
  std::vector<TokenId> forced;
  std::optional<wire::FinishReason> finish;  // set if only the forced tokens are left, or nothing
};

// Takes the resumed tokens one by one, as the scheduler took them on the other worker. invalid_argument: they
// cannot be the beginning of an answer to this request. Takes time by their number; any thread may call it.
base::Result<Resumption> replay_output(const wire::GenerateRequest& request);

}  // namespace kvasir::sched
