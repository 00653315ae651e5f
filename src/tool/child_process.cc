#include "tool/child_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

namespace kvasir::tool {

using base::ErrorCode;
using base::Result;

namespace {

constexpr int kMaxInheritedFd = 1 << 16;  // the highest descriptor to mark if close_range is missing

// Both ends of the pipe are closed on exec.
struct Pipe {
  Pipe() = default;
  ~Pipe() {
    for (const int end : ends)
      if (end >= 0) ::close(end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  bool open() { return ::pipe2(ends.data(), O_CLOEXEC) == 0; }
  void close(int which) {
    ::close(ends[static_cast<std::size_t>(which)]);
    ends[static_cast<std::size_t>(which)] = -1;
  }
  int release(int which) { return std::exchange(ends[static_cast<std::size_t>(which)], -1); }

  std::array<int, 2> ends = {-1, -1};
};

std::vector<std::string> environment_over(const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<std::string> lines;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view line(*at);
    bool changed = false;
    for (const auto& [name, value] : changes) changed = changed || line.starts_with(name + "=");
    if (!changed) lines.emplace_back(line);
  }
  for (const auto& [name, value] : changes) lines.push_back(name + "=" + value);
  return lines;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// Everything that the child needs between fork and exec, where allocating memory is not allowed.
struct Launch {
  std::array<int, 3> streams;  // become 0, 1 and 2
  int failure;                 // receives errno if the program cannot be executed
  pid_t parent;
  char** argv;
  char** envp;
};

[[noreturn]] void become(const Launch& launch) {
  ::setpgid(0, 0);
  // If the server is killed, the program must die, too. If the server died before the next line, the program
  // exits here.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launch.parent) ::_exit(127);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  for (int stream = 0; stream < 3; ++stream) ::dup2(launch.streams[static_cast<std::size_t>(stream)], stream);
  // The program must not inherit the listening socket or clients' sockets.
  if (::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) != 0)
    for (int fd = 3; fd < kMaxInheritedFd; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  ::execvpe(launch.argv[0], launch.argv, launch.envp);
  const int code = errno;
  (void)!::write(launch.failure, &code, sizeof(code));
  ::_exit(127);
}

// Starts the program. Returns its pid once the exec has succeeded.
Result<pid_t> launch_program(const Launch& launch, Pipe& failure, const std::string& program) {
  const pid_t pid = ::fork();
  if (pid < 0) return base::error(ErrorCode::io, "cannot run {}: {}", program, std::strerror(errno));
  if (pid == 0) become(launch);
  failure.close(1);
  int code = 0;
  ssize_t size = 0;
  do size = ::read(failure.ends[0], &code, sizeof(code));
  while (size < 0 && errno == EINTR);
  if (size != static_cast<ssize_t>(sizeof(code))) return pid;
  ::waitpid(pid, nullptr, 0);
  return base::error(code == ENOENT ? ErrorCode::not_found : ErrorCode::io, "cannot run {}: {}", program,
                     std::strerror(code));
}

}  // namespace

ChildProcess::ChildProcess(pid_t pid, const boost::asio::any_io_executor& executor)
    : pid_(pid), input_(executor), output_(executor), errors_(executor) {}

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(const Command& command,
                                                          const boost::asio::any_io_executor& executor) {
  Pipe in;
  Pipe out;
  Pipe err;
  Pipe failure;
  if (!in.open() || !out.open() || !err.open() || !failure.open())
    return base::error(ErrorCode::io, "cannot run {}: {}", command.program, std::strerror(errno));
  std::vector<std::string> argv = {command.program};
  argv.insert(argv.end(), command.args.begin(), command.args.end());
  std::vector<std::string> environment = environment_over(command.env);
  std::vector<char*> argv_pointers = pointers(argv);
  std::vector<char*> environment_pointers = pointers(environment);
  const Launch launch{.streams = {in.ends[0], out.ends[1], err.ends[1]},
                      .failure = failure.ends[1],
                      .parent = ::getpid(),
                      .argv = argv_pointers.data(),
                      .envp = environment_pointers.data()};
  TRY(const pid_t pid, launch_program(launch, failure, command.program));
  std::unique_ptr<ChildProcess> child(new ChildProcess(pid, executor));
  child->input_.assign(in.release(1));
  child->output_.assign(out.release(0));
  child->errors_.assign(err.release(0));
  return child;
}

ChildProcess::~ChildProcess() {
  if (pid_ == 0) return;
  ::kill(-pid_, SIGKILL);
  while (!reap(0)) continue;
}

bool ChildProcess::reap(int flags) {
  if (pid_ == 0) return true;
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | flags) != 0 && errno == EINTR)
    return false;
  if ((flags & WNOHANG) != 0 && info.si_pid == 0) return false;
  ::kill(-pid_, SIGKILL);  // kills its children too; must come before the wait that frees the pid
  ::waitpid(pid_, nullptr, 0);
  pid_ = 0;
  return true;
}

bool ChildProcess::ended() {
  return reap(WNOHANG);
}

}  // namespace kvasir::tool
