#include "upstream/standing.h"

#include <algorithm>
#include <utility>

namespace kvasir::upstream {

void Standing::note_busy(base::TimePoint until) {
  probation_.note_nothing();
  busy_until_ = std::max(busy_until_, until);
}

bool Standing::note_check(bool good) {
  num_failed_checks_ = good ? 0 : num_failed_checks_ + 1;
  const bool is_up = good || (is_up_ && num_failed_checks_ < kFailedChecksToLeave);
  return std::exchange(is_up_, is_up) != is_up;
}

}  // namespace kvasir::upstream
