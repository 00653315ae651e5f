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
  // Tokens that the grammar forces right after the resumed ones. The other worker would have sent them
  // together, but its output may have been cut between them.
  std::vector<TokenId> forced;
  std::optional<wire::FinishReason> finish;  // set if nothing is left to compute
};

// Takes the resumed tokens one by one, as the scheduler took them on the other worker. Fails with
// invalid_argument if they cannot be the beginning of an answer to this request. The time grows with their
// number; any thread may call it.
base::Result<Resumption> replay_output(const wire::GenerateRequest& request);

}  // namespace kvasir::sched
