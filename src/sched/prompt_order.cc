#include "sched/prompt_order.h"

#include <algorithm>
#include <cstddef>

namespace kvasir::sched {

namespace {

// The most prompts that one plan sorts by their work. The others wait in the order of rank, since examining
// thousands would take milliseconds.
constexpr std::size_t kMostJudged = 256;

int num_known(const SchedulerState& state, const Sequence& sequence) {
  if (sequence.blocks.size() > 0 || !state.options.prefix_cache || sequence.wants_prompt_lines())
    return sequence.num_computed;
  return state.tree.num_published(sequence.chain.hashes()) * kv::kBlockTokens;
}

}  // namespace

Prompt judge(const SchedulerState& state, const Sequence& sequence) {
  const int num_done = std::min(num_known(state, sequence), sequence.num_tokens() - 1);
  Prompt prompt{.sequence = &sequence,
                .num_left = sequence.num_tokens() - num_done,
                .is_stream = sequence.num_output() > 0};
  prompt.awaited = {.work_s = state.cost.prefill_s(prompt.num_left, num_done),
                    .alone_s = state.cost.prefill_s(sequence.num_prompt, 0),
                    .waited_s = state.busy_s - sequence.arrived_s};
  return prompt;
}

bool is_served_before(const Prompt& a, const Prompt& b) {
  const int priority_a = a.sequence->request.priority;
  const int priority_b = b.sequence->request.priority;
  if (priority_a != priority_b) return priority_a > priority_b;
  if (a.is_stream != b.is_stream) return a.is_stream;
  if (a.num_left != b.num_left) return a.num_left < b.num_left;
  return ByRank{}(a.sequence, b.sequence);
}

std::vector<Prompt> waiting_in_order(const SchedulerState& state) {
  std::vector<Prompt> prompts;
  for (const Sequence* sequence : state.waiting) {
    if (prompts.size() == kMostJudged) break;
    if (!sequence->held) prompts.push_back(judge(state, *sequence));
  }
  if (prompts.size() > 2) std::sort(prompts.begin() + 1, prompts.end(), is_served_before);
  return prompts;
}

}  // namespace kvasir::sched
