#pragma once

#include <cstdint>
#include <vector>

#include "sched/sequence.h"

namespace kvasir::sched {

// A sequence with the keys that it is sorted by: to look them up in thousands of sequences would take
// milliseconds.
struct RowTurn {
  std::int64_t last_step = 0;
  const Sequence* sequence = nullptr;
  double place = 0;
};

// Sorts the streams for steps that cannot take all of them. The stream that has waited longest comes first.
// Each tenant has as many streams as its weight before any tenant has the next one, and within a tenant each
// request has one in turn.
void sort_by_turn(std::vector<RowTurn>& turns);

}  // namespace kvasir::sched
