#include "sched/share_rows.h"

#include <algorithm>
#include <utility>

#include "sched/prompt_order.h"

namespace kvasir::sched {

namespace {

using kv::kBlockTokens;

// The sequence that is first in rank gets at least one part in this many of the budget.
constexpr int kFirstShare = 4;

}  // namespace

void share_rows(const SchedulerState& state, std::vector<Grant>& prefills, int budget) {
  if (prefills.empty() || budget <= 0) return;
  int left = budget;
  const auto give = [&left](Grant& grant, int most) {
    const int rows = std::min(most, grant.num_left());
    left -= rows - grant.num_rows;
    grant.num_rows = rows;
  };
  Grant& first = *std::ranges::min_element(prefills, ByRank{}, &Grant::sequence);
  give(first, std::min(budget, std::max(budget / kFirstShare, kMinChunk)));
  std::vector<std::pair<Prompt, Grant*>> order;
  for (Grant& grant : prefills) {
    Prompt& prompt = order.emplace_back(judge(state, *grant.sequence), &grant).first;
    prompt.num_left = grant.num_left() - grant.num_rows;
    prompt.size = prompt_size(most_small_tokens(state, grant.sequence->request.priority), prompt.num_left);
  }
  std::ranges::sort(order, is_served_before, &std::pair<Prompt, Grant*>::first);
  for (const auto& [prompt, grant] : order) {
    give(*grant, grant->num_rows + left);
    if (grant->num_rows == grant->num_left()) continue;
    // A chunk that ends at a block's end lets that block be shared at once. The rest of the budget goes to
    // the next sequence.
    const int aligned =
        (grant->num_computed + grant->num_rows) / kBlockTokens * kBlockTokens - grant->num_computed;
    if (aligned * 8 >= grant->num_rows * 7) give(*grant, aligned);
  }
}

void limit_prompt_rows(std::vector<Grant>& prefills, int& num_left) {
  for (Grant& grant : prefills) {
    if (!grant.sequence->wants_prompt_lines()) continue;
    grant.num_rows = std::min(grant.num_rows, num_left);
    num_left -= grant.num_rows;
  }
}

}  // namespace kvasir::sched
