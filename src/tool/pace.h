#pragma once

#include <algorithm>
#include <optional>

#include "base/clock.h"

namespace kvasir::tool {

// How often something is done at the most. The clock outlives it. On one thread.
class Pace {
 public:
  Pace(base::Duration interval, const base::Clock& clock) : interval_(interval), clock_(clock) {}

  // It is being done now.
  void step() { last_ = clock_.now(); }
  // Until it may be done again.
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
