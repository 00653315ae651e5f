#include "fleet/membership.h"

#include <algorithm>

namespace kvasir::fleet {

namespace {

std::vector<WorkerPlace> missing_in(const std::vector<WorkerPlace>& list,
                                    const std::vector<WorkerPlace>& from) {
  std::vector<WorkerPlace> missing;
  for (const WorkerPlace& place : from)
    if (std::ranges::find(list, place) == list.end()) missing.push_back(place);
  return missing;
}

}  // namespace

MemberChanges changes(const std::vector<WorkerPlace>& before, const std::vector<WorkerPlace>& now) {
  return {.left = missing_in(now, before), .joined = missing_in(before, now)};
}

}  // namespace kvasir::fleet
