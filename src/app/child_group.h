#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace kvasir::app {

// Child processes of this one. Their output is printed here line by line, each line with the child's name. A
// child that ends is started again after a pause, which doubles as long as it keeps ending soon. All children
// end with this process, even if it is killed. Used by one thread.
class ChildGroup {
 public:
  struct Program {
    std::string name;  // printed before each of its lines
    std::vector<std::string> argv;
  };

  explicit ChildGroup(std::vector<Program> programs);
  // Kills the children that still run.
  ~ChildGroup();
  ChildGroup(const ChildGroup&) = delete;
  ChildGroup& operator=(const ChildGroup&) = delete;

  // Starts all children and restarts those that end, until `stop_fd` is readable. Fails if a program cannot
  // be started.
  base::Status run(int stop_fd);
  // Ends the children one after the other, the last one first. Returns false if `stop_fd` became readable
  // again or `at_most` passed before all had ended; the destructor then kills the rest.
  bool end(int stop_fd, std::chrono::seconds at_most);

 private:
  using Clock = std::chrono::steady_clock;
  struct Child {
    Program program;
    pid_t pid = -1;   // -1: not running
    int output = -1;  // the pipe of its stdout and stderr; -1: closed
    std::string line;
    std::chrono::milliseconds pause{0};
    Clock::time_point started;
    Clock::time_point next;  // when it may start again
  };

  base::Status start(Child& child);
  void read(Child& child);
  static void reap(Child& child);
  void restart_due();
  // Waits for output, a child's end or `stop_fd`, at most this long. True if `stop_fd` was readable.
  bool wait(int stop_fd, std::chrono::milliseconds at_most);

  std::vector<Child> children_;
};

}  // namespace kvasir::app
