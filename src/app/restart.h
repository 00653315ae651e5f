#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kvasir::app {

// How often this process has restarted itself. A restart passes it on in the environment.
class RestartHistory {
 public:
  static constexpr std::int64_t kWindowS = 600;

  // The history that restart_process() passed on. Empty if something else started this process.
  static RestartHistory of_this_process();
  // The inverse of text(). Invalid text gives an empty history.
  static RestartHistory parse(std::string_view text);
  std::string text() const;

  // `now_s` must come from a clock that keeps running over a restart.
  void add(std::int64_t now_s);
  int num_in_window(std::int64_t now_s) const;
  int num_restarts() const { return num_restarts_; }

 private:
  int num_restarts_ = 0;
  std::vector<std::int64_t> recent_s_;  // times of the latest restarts, oldest first
};

// Replaces this process by a new one with the same program, arguments and environment. Only the standard
// streams are passed on; all other descriptors are closed. May be called from any thread, whatever the other
// threads do. Returns only if it fails.
base::Error restart_process(RestartHistory history, const std::vector<std::string>& more_arguments);

// Seconds since the machine was started.
std::int64_t monotonic_s();

}  // namespace kvasir::app
