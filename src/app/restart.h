#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kvasir::app {

// How often this process has re-created itself. Handed on in the environment.
class RestartHistory {
 public:
  static constexpr std::int64_t kWindowS = 600;

  // The history that restart_process() handed on; an empty one in a process that was started by another.
  static RestartHistory of_this_process();
  // The inverse of text(); nothing in text that is none.
  static RestartHistory parse(std::string_view text);
  std::string text() const;

  // `now_s` is of a clock that goes on over a restart.
  void add(std::int64_t now_s);
  int num_in_window(std::int64_t now_s) const;
  int num_restarts() const { return num_restarts_; }

 private:
  int num_restarts_ = 0;
  std::vector<std::int64_t> recent_s_;  // the latest, oldest first
};

// Replaces this process by a new one of the same program, arguments and environment. Only the standard
// streams are handed on; whatever was open is closed. From any thread, whatever the others do. Returns only
// why it could not be done.
base::Error restart_process(RestartHistory history, const std::vector<std::string>& more_arguments);

// Seconds since the machine was started.
std::int64_t monotonic_s();

}  // namespace kvasir::app
