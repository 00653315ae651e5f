#pragma once

#include <vector>

#include "sched/grant.h"
#include "sched/planner.h"

namespace kvasir::sched {

// The fewest rows of a prompt that are worth a step.
inline constexpr int kMinChunk = kv::kBlockTokens;

// Shares `budget` rows among prompts. The first in rank gets a part, whatever its length, and so never
// starves. The rest goes in the order of service.
void share_rows(const SchedulerState& state, std::vector<Grant>& prefills, int budget);

// Limits the rows whose logits are needed for prompt logprobs.
void limit_prompt_rows(std::vector<Grant>& prefills, int& num_left);

}  // namespace kvasir::sched
