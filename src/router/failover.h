#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "obs/metric.h"

namespace kvasir::router {

// What became of a sequence whose worker was lost.
enum class FailoverOutcome : std::uint8_t {
  moved,
  no_member,    // no other worker was there to go on with it
  too_often,    // it has lost several workers already
  over_budget,  // too many requests of the pool were lost at once
};
inline constexpr std::size_t kNumFailoverOutcomes = 4;

constexpr std::string_view name_of(FailoverOutcome outcome) {
  constexpr std::array<std::string_view, kNumFailoverOutcomes> kNames{"moved", "no_member", "too_often",
                                                                      "over_budget"};
  return kNames[static_cast<std::size_t>(outcome)];
}

// How often each outcome occurred in one pool. Thread-safe.
class FailoverCounts {
 public:
  void add(FailoverOutcome outcome) { counters_[static_cast<std::size_t>(outcome)].add(); }
  std::uint64_t of(FailoverOutcome outcome) const {
    return counters_[static_cast<std::size_t>(outcome)].value();
  }

 private:
  std::array<obs::Counter, kNumFailoverOutcomes> counters_;
};

}  // namespace kvasir::router
