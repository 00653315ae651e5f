#pragma once

#include <cstdint>

#include "api/answer/job/job.h"
#include "api/http/caller/caller.h"
#include "tenancy/cost.h"

namespace kvasir::api {

// What a job may use of its tenant's limits: the prompts and the longest answers of all its sequences. If the
// client said nothing of the answer's length, a shorter answer does, of 1,024 tokens at least, or of as many
// as the tenant's limits can ever give.
tenancy::Cost cost_of(const Job& job, const Asker& asker);

// Shortens the answers so that all sequences together take no more than what was granted.
void fit_to_grant(std::int64_t tokens, Job& job);

}  // namespace kvasir::api
