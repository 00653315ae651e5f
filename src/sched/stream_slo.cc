#include "sched/stream_slo.h"

#include <algorithm>

namespace kvasir::sched {

double strictest_tpot_s(std::span<const Grant> streams, double model_tpot_s) {
  const auto priority_of = [](const Grant& grant) { return grant.sequence->request.priority; };
  if (streams.empty()) return model_tpot_s;
  const int highest = priority_of(*std::ranges::max_element(streams, {}, priority_of));
  const auto tpot_of = [model_tpot_s](const Grant& grant) {
    const double own_s = grant.sequence->request.slo_tpot_s;
    return own_s > 0 ? own_s : model_tpot_s;
  };
  double strictest_s = 0;
  for (const Grant& grant : streams) {
    if (priority_of(grant) != highest) continue;
    strictest_s = strictest_s > 0 ? std::min(strictest_s, tpot_of(grant)) : tpot_of(grant);
  }
  return strictest_s;
}

}  // namespace kvasir::sched
