#pragma once

#include "base/clock.h"

namespace kvasir::upstream {

// Whether a member may get requests, by what checks and its last requests said. Only decides; the time is an
// argument. Touched under its owner's lock.
//
// A member that fails some requests in a row is ejected for a pause. After the pause one request tries it: if
// that ends well the member is back, otherwise the next pause is twice as long.
class Standing {
 public:
  struct Options {
    int failures_to_eject = 3;
    base::Duration first_pause = std::chrono::seconds(2);
    base::Duration longest_pause = std::chrono::seconds(60);
    int failed_checks_to_leave = 2;
  };
  Standing() : Standing(Options{}) {}
  explicit Standing(Options options) : options_(options), pause_(options.first_pause) {}

  bool admits(base::TimePoint now) const;
  // Whether its checks succeed; false before the first one.
  bool is_up() const { return up_; }
  bool is_ejected() const { return ejected_; }

  // A request goes to it. It must admit one. One of the four below follows.
  void begin();
  void note_good();
  void note_failure(base::TimePoint now);
  // It can do nothing for anybody, as with a wrong key: it is ejected at once.
  void note_useless(base::TimePoint now);
  // The request ended without saying anything of the member: the client left, or the request was wrong.
  void note_nothing() { trial_ = false; }
  // It asked to be left alone for that long.
  void note_busy(base::TimePoint until);

  // True if it went up or down.
  bool note_check(bool good);

 private:
  void eject(base::TimePoint now);

  const Options options_;
  bool up_ = false;
  int num_failed_checks_ = 0;
  int num_failures_ = 0;  // in a row
  bool ejected_ = false;
  bool trial_ = false;  // a request tries the ejected member
  base::Duration pause_;
  base::TimePoint ejected_until_{};
  base::TimePoint busy_until_{};
};

}  // namespace kvasir::upstream
