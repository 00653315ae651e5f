#include "sched/step_end.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "sched/prompt_order.h"

namespace kvasir::sched {

namespace {

// A step's prompts: the first in rank, then those that end in the step, in the order of service, then those
// that do not.
std::vector<Grant*> in_order_of_end(const SchedulerState& state, std::vector<Grant>& prefills) {
  std::vector<std::pair<Prompt, Grant*>> order;
  for (Grant& grant : prefills)
    if (grant.num_rows > 0) order.emplace_back(judge(state, *grant.sequence), &grant);
  const auto sequence_of = [](const auto& one) { return one.second->sequence; };
  const auto first = std::ranges::min_element(order, ByRank{}, sequence_of);
  if (first == order.end()) return {};
  std::iter_swap(order.begin(), first);
  const auto ends = [](const auto& one) { return one.second->num_rows == one.second->num_left(); };
  const auto others = std::ranges::subrange(order.begin() + 1, order.end());
  const auto rest = std::ranges::partition(others, ends);
  std::ranges::sort(others.begin(), rest.begin(), is_served_before, &std::pair<Prompt, Grant*>::first);
  std::vector<Grant*> grants;
  for (const auto& [prompt, grant] : order) grants.push_back(grant);
  return grants;
}

}  // namespace

double gain_s(const StepCost& cost, const Cut& cut) {
  const double kept_s = cost.predict_s(cut.kept);
  const double whole_s = cost.predict_s(cut.whole);
  const double more_s = kept_s + cost.predict_s(cut.left) - whole_s;
  return cut.num_ended * (whole_s - kept_s) - cut.num_waiting * more_s;
}

void end_with_prompts(const SchedulerState& state, const StepLoad& streams, int num_waiting,
                      std::vector<Grant>& prefills) {
  const std::vector<Grant*> grants = in_order_of_end(state, prefills);
  if (grants.size() < 2) return;
  Cut cut{.kept = streams, .left = streams, .whole = streams};
  cut.num_waiting = num_waiting + static_cast<int>(prefills.size());
  for (const Grant* grant : grants) cut.whole.add(grant->num_computed, grant->num_rows);
  cut.left = cut.whole;
  double best_s = 0;
  std::size_t num_kept = grants.size();
  for (std::size_t i = 0; i + 1 < grants.size(); ++i) {
    const Grant& grant = *grants[i];
    const bool ends = grant.num_rows == grant.num_left();
    if (i > 0 && !ends) break;
    cut.kept.add(grant.num_computed, grant.num_rows);
    cut.left.remove(grant.num_computed, grant.num_rows);
    cut.num_ended += ends ? 1 : 0;
    cut.num_waiting -= ends ? 1 : 0;
    const double gained_s = gain_s(state.cost, cut);
    if (gained_s <= best_s) continue;
    best_s = gained_s;
    num_kept = i + 1;
  }
  for (std::size_t i = num_kept; i < grants.size(); ++i) grants[i]->num_rows = 0;
}

}  // namespace kvasir::sched
