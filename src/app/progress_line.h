#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"

namespace kvasir::app {

// One line of progress on stderr: on a terminal it is redrawn in place and erased at the end, elsewhere it is
// printed from time to time. Used by one thread.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(std::string_view text);
  // Erases the line, so that something else can be printed.
  void clear();

 private:
  const base::RealClock clock_;
  const bool terminal_;
  bool drawn_ = false;
  base::TimePoint last_{};
};

}  // namespace kvasir::app
