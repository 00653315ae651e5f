#pragma once

#include <cstdint>

#include "api/answer/job/job.h"
#include "api/http/caller/caller.h"
#include "tenancy/cost.h"

namespace kvasir::api {

// What a job reserves of its tenant's limits: its prompts and the longest answers of all its sequences. If
// the client did not bound the answer's length, the job also accepts room for shorter answers: 1,024 tokens
// each, or as many as the tenant's limits can ever give if that is less.
tenancy::Cost cost_of(const Job& job, const Asker& asker);

// Shortens the answers so that all prompts and answers together take no more than the tokens granted.
void fit_to_grant(std::int64_t tokens, Job& job);

}  // namespace kvasir::api
