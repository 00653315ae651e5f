#pragma once

#include <cstdint>
#include <vector>

#include "sched/sequence.h"

namespace kvasir::sched {

// A sequence beside what it is sorted by: looking into thousands of them for it would take milliseconds.
struct RowTurn {
  std::int64_t last_step = 0;
  const Sequence* sequence = nullptr;
  double place = 0;
};

// Where not all streams fit into a step: the one that has waited for the longest first, and one of each
// tenant (as many as its weight) before the next one of any; in a tenant one of each request.
void sort_by_turn(std::vector<RowTurn>& turns);

}  // namespace kvasir::sched
