#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"

namespace kvasir::app {

// One line on stderr that tells how far something is: on a terminal drawn again in place and wiped at the
// end, elsewhere printed now and then. One thread.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(std::string_view text);
  // Takes the line away, so that something else may be printed.
  void clear();

 private:
  const base::RealClock clock_;
  const bool terminal_;
  bool drawn_ = false;
  base::TimePoint last_{};
};

}  // namespace kvasir::app
