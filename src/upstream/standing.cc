#include "upstream/standing.h"

#include <algorithm>
#include <utility>

namespace kvasir::upstream {

bool Standing::admits(base::TimePoint now) const {
  if (!up_ || now < busy_until_) return false;
  return !ejected_ || (now >= ejected_until_ && !trial_);
}

void Standing::begin() {
  if (ejected_) trial_ = true;
}

void Standing::note_good() {
  num_failures_ = 0;
  ejected_ = false;
  trial_ = false;
  pause_ = options_.first_pause;
}

void Standing::eject(base::TimePoint now) {
  ejected_ = true;
  trial_ = false;
  ejected_until_ = now + pause_;
  pause_ = std::min(pause_ * 2, options_.longest_pause);
}

void Standing::note_failure(base::TimePoint now) {
  // Requests that began before the ejection say nothing new.
  if (ejected_ && !trial_) return;
  if (++num_failures_ >= options_.failures_to_eject || trial_) eject(now);
}

void Standing::note_useless(base::TimePoint now) {
  if (!ejected_ || trial_) eject(now);
}

void Standing::note_busy(base::TimePoint until) {
  trial_ = false;
  busy_until_ = std::max(busy_until_, until);
}

bool Standing::note_check(bool good) {
  num_failed_checks_ = good ? 0 : num_failed_checks_ + 1;
  const bool up = good || (up_ && num_failed_checks_ < options_.failed_checks_to_leave);
  return std::exchange(up_, up) != up;
}

}  // namespace kvasir::upstream
