#include "app/child_group.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "app/say.h"

namespace kvasir::app {

namespace {

constexpr std::chrono::milliseconds kFirstPause{200};
constexpr std::chrono::milliseconds kLongestPause{10'000};
constexpr std::chrono::seconds kLongLife{30};  // after a run of this length, the pause is short again
// A child's end is noticed when its output ends, or else within this time.
constexpr std::chrono::milliseconds kPoll{100};

// Runs in the child between fork and exec: only async-signal-safe calls are allowed there.
[[noreturn]] void become(char* const* argv, int output, pid_t parent) {
  ::setpgid(0, 0);  // Ctrl-C must reach only the parent, which ends its children in order
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(nothing, 0);
  ::dup2(output, 1);
  ::dup2(output, 2);
  ::execv("/proc/self/exe", argv);
  ::_exit(127);
}

}  // namespace

ChildGroup::ChildGroup(std::vector<Program> programs) {
  for (Program& program : programs) children_.push_back({.program = std::move(program)});
}

ChildGroup::~ChildGroup() {
  for (Child& child : children_) {
    if (child.pid > 0) {
      ::kill(child.pid, SIGKILL);
      ::waitpid(child.pid, nullptr, 0);
    }
    if (child.output >= 0) ::close(child.output);
  }
}

base::Status ChildGroup::start(Child& child) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return base::error(base::ErrorCode::io, "no pipe for {}: {}", child.program.name, std::strerror(errno));
  std::vector<char*> argv;
  for (std::string& argument : child.program.argv) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t parent = ::getpid();
  child.pid = ::fork();
  if (child.pid == 0) become(argv.data(), ends[1], parent);
  const int problem = errno;
  ::close(ends[1]);
  if (child.pid < 0) {
    ::close(ends[0]);
    return base::error(base::ErrorCode::io, "{} cannot be started: {}", child.program.name,
                       std::strerror(problem));
  }
  if (child.output >= 0) ::close(child.output);
  child.output = ends[0];
  child.started = Clock::now();
  return base::ok();
}

void ChildGroup::read(Child& child) {
  char buffer[4096];
  const ssize_t size = ::read(child.output, buffer, sizeof buffer);
  if (size < 0 && errno == EINTR) return;
  for (ssize_t i = 0; i < size; ++i) {
    if (buffer[i] != '\n') {
      child.line += buffer[i];
      continue;
    }
    say(stdout, "{:<8}| {}\n", child.program.name, std::exchange(child.line, {}));
  }
  std::fflush(stdout);
  if (size > 0) return;
  ::close(child.output);
  child.output = -1;
}

void ChildGroup::reap(Child& child) {
  int status = 0;
  if (child.pid <= 0 || ::waitpid(child.pid, &status, WNOHANG) != child.pid) return;
  const bool lived_long = Clock::now() - child.started >= kLongLife;
  child.pause =
      lived_long || child.pause.count() == 0 ? kFirstPause : std::min(2 * child.pause, kLongestPause);
  child.next = Clock::now() + child.pause;
  const std::string how = WIFSIGNALED(status) ? fmt::format("was killed by signal {}", WTERMSIG(status))
                                              : fmt::format("ended with status {}", WEXITSTATUS(status));
  say(stderr, "kvasir: {} (process {}) {}\n", child.program.name, child.pid, how);
  child.pid = -1;
}

void ChildGroup::restart_due() {
  for (Child& child : children_) {
    reap(child);
    if (child.pid > 0 || Clock::now() < child.next) continue;
    if (const base::Status started = start(child); !started.ok()) {
      say(stderr, "kvasir: {}\n", started.error().message);
      child.next = Clock::now() + kLongestPause;
      continue;
    }
    say(stderr, "kvasir: {} is process {} now\n", child.program.name, child.pid);
  }
}

bool ChildGroup::wait(int stop_fd, std::chrono::milliseconds at_most) {
  std::vector<pollfd> polled{{.fd = stop_fd, .events = POLLIN, .revents = 0}};
  for (const Child& child : children_)  // poll() ignores negative descriptors
    polled.push_back({.fd = child.output, .events = POLLIN, .revents = 0});
  if (::poll(polled.data(), polled.size(), static_cast<int>(at_most.count())) <= 0) return false;
  for (std::size_t i = 0; i < children_.size(); ++i)
    if (polled[i + 1].revents != 0) read(children_[i]);
  if (polled[0].revents == 0) return false;
  char taken[256];
  return ::read(stop_fd, taken, sizeof taken) > 0;
}

base::Status ChildGroup::run(int stop_fd) {
  for (Child& child : children_) {
    TRY_OK(start(child));
    say(stderr, "kvasir: {} is process {}\n", child.program.name, child.pid);
  }
  while (!wait(stop_fd, kPoll)) restart_due();
  return base::ok();
}

bool ChildGroup::end(int stop_fd, std::chrono::seconds at_most) {
  const Clock::time_point deadline = Clock::now() + at_most;
  for (auto child = children_.rbegin(); child != children_.rend(); ++child) {
    if (child->pid > 0) ::kill(child->pid, SIGTERM);
    while (child->pid > 0) {
      if (wait(stop_fd, kPoll) || Clock::now() >= deadline) return false;
      for (Child& one : children_) reap(one);
    }
  }
  return true;
}

}  // namespace kvasir::app
