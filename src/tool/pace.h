#pragma once

#include <algorithm>
#include <optional>

#include "base/clock.h"

namespace kvasir::tool {

// Limits how often an action is done. The clock outlives this object. Used by one thread.
class Pace {
 public:
  Pace(base::Duration interval, const base::Clock& clock) : interval_(interval), clock_(clock) {}

  // Records that the action is done now.
  void step() { last_ = clock_.now(); }
  // Returns the time until the action may be done again.
  base::Duration wait() const {
    if (!last_) return base::Duration::zero();
    return std::max(base::Duration::zero(), *last_ + interval_ - clock_.now());
  }

 private:
  const base::Duration interval_;
  const base::Clock& clock_;
  std::optional<base::TimePoint> last_;
};

}  // namespace kvasir::tool
