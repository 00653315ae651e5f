#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace kvasir::app {

// Programs that run for this one: their output appears here line by line, with their names; one that ends is
// started again, after a pause that doubles while it lives for a short time only. They end with this process,
// however that ends. Used by one thread.
class ChildGroup {
 public:
  struct Program {
    std::string name;  // before its lines
    std::vector<std::string> argv;
  };

  explicit ChildGroup(std::vector<Program> programs);
  // Kills those that still run.
  ~ChildGroup();
  ChildGroup(const ChildGroup&) = delete;
  ChildGroup& operator=(const ChildGroup&) = delete;

  // Starts all, and looks after them until `stop_fd` is readable. An error if a program cannot be started.
  base::Status run(int stop_fd);
  // Asks them to end, the last one first, each after the one before has ended. Kills all once `stop_fd` is
  // readable again, or this time is over. False: it had to.
  bool end(int stop_fd, std::chrono::seconds at_most);

 private:
  using Clock = std::chrono::steady_clock;
  struct Child {
    Program program;
    pid_t pid = -1;   // -1: it does not run
    int output = -1;  // of stdout and stderr; -1: closed
    std::string line;
    std::chrono::milliseconds pause{0};
    Clock::time_point started;
    Clock::time_point next;  // when it may start again
  };

  base::Status start(Child& child);
  void read(Child& child);
  static void reap(Child& child);
  void restart_due();
  // Waits for output, an end or `stop_fd`, whichever is first. True: `stop_fd`.
  bool wait(int stop_fd, std::chrono::milliseconds at_most);

  std::vector<Child> children_;
};

}  // namespace kvasir::app
