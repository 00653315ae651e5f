#include "api/answer/admit/reservation.h"

#include <algorithm>

#include "tenancy/counters.h"

namespace kvasir::api {

namespace {

constexpr int kLeastAnswer = 1024;  // tokens

std::int64_t prompt_tokens(const Job& job) {
  std::int64_t tokens = 0;
  for (const wire::GenerateRequest& sequence : job.sequences)
    tokens += static_cast<std::int64_t>(sequence.prompt.size());
  return tokens;
}

// The fewest tokens that are enough: all prompts, with answers of up to `kLeastAnswer` tokens each. If that
// is more than `most`, which the tenant can ever get, the answers are shorter. 0: `most` is no limit.
std::int64_t least_tokens(const Job& job, std::int64_t most) {
  const std::int64_t prompts = prompt_tokens(job);
  std::int64_t tokens = prompts;
  std::int64_t shortest = 1;
  for (const wire::GenerateRequest& sequence : job.sequences) {
    tokens += std::max(sequence.min_tokens, std::min(kLeastAnswer, sequence.max_tokens));
    shortest = std::max<std::int64_t>(shortest, sequence.min_tokens);
  }
  if (most == 0 || tokens <= most) return tokens;
  const auto num_sequences = static_cast<std::int64_t>(job.sequences.size());
  const std::int64_t room = (most - prompts) / num_sequences;
  return room >= shortest ? prompts + room * num_sequences : tokens;
}

}  // namespace

tenancy::Cost cost_of(const Job& job, const Asker& asker) {
  tenancy::Cost cost{.sequences = static_cast<int>(job.sequences.size()),
                     .tokens = prompt_tokens(job),
                     .requests = asker.num_requests};
  for (const wire::GenerateRequest& sequence : job.sequences) cost.tokens += sequence.max_tokens;
  if (!job.context.requested_max_tokens)
    cost.least_tokens = least_tokens(job, tenancy::most_tokens(*asker.caller.tier));
  return cost;
}

void fit_to_grant(std::int64_t tokens, Job& job) {
  const auto num_sequences = static_cast<std::int64_t>(job.sequences.size());
  const std::int64_t room = (tokens - prompt_tokens(job)) / num_sequences;
  for (wire::GenerateRequest& sequence : job.sequences) {
    sequence.max_tokens = static_cast<int>(std::min<std::int64_t>(sequence.max_tokens, room));
    job.context.max_tokens = std::min(job.context.max_tokens, sequence.max_tokens);
  }
}

}  // namespace kvasir::api
