#pragma once

#include <chrono>
#include <limits>

#include "base/clock.h"
#include "base/probation.h"

namespace kvasir::upstream {

// Decides whether a member may get requests, by its checks and its last requests. The time is an argument.
// Touched under its owner's lock.
class Standing {
 public:
  static constexpr int kFailedChecksToLeave = 2;

  bool admits(base::TimePoint now) const { return is_up_ && now >= busy_until_ && probation_.admits(now); }
  // Whether its checks succeed; false before the first one.
  bool is_up() const { return is_up_; }
  bool is_ejected() const { return probation_.is_out(); }

  // A request goes to the member, which must admit one. One of the next five calls must follow.
  void begin(base::TimePoint now) { probation_.begin(now); }
  void note_good(base::TimePoint now) { probation_.note_good(now); }
  void note_failure(base::TimePoint now) { (void)probation_.note_failure(now); }
  // The member can serve no request (its key is wrong, say), so it is ejected at once.
  void note_useless(base::TimePoint now) { probation_.put_out(now); }
  // The request's end shows nothing about the member: the client left, or the request was wrong.
  void note_nothing() { probation_.note_nothing(); }
  // The member wants no requests until then.
  void note_busy(base::TimePoint until);

  // True if the member went up or down.
  bool note_check(bool good);

 private:
  bool is_up_ = false;
  int num_failed_checks_ = 0;
  // Only failures in a row eject a member, since some requests fail by their own fault. One good request
  // forgives all failures. A trial may take minutes, as any answer may.
  base::Probation probation_{{.least_failures = std::numeric_limits<int>::max(),
                              .first_pause = std::chrono::seconds(2),
                              .forgiven_after = base::Duration::zero(),
                              .longest_trial = std::chrono::minutes(5)}};
  base::TimePoint busy_until_{};
};

}  // namespace kvasir::upstream
