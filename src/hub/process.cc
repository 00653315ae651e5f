#include "hub/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <thread>

extern char** environ;

namespace kvasir::hub {

using base::ErrorCode;

namespace {

constexpr int kTickMs = 100;
constexpr std::size_t kMaxErrorBytes = 8 * 1024;
constexpr std::chrono::milliseconds kGrace{2000};  // between SIGTERM and SIGKILL

class Pipe {
 public:
  Pipe() = default;
  ~Pipe() {
    close_read();
    close_write();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  bool open() { return ::pipe2(fds_.data(), O_CLOEXEC) == 0; }
  int read_end() const { return fds_[0]; }
  int write_end() const { return fds_[1]; }
  void close_read() { close_one(fds_[0]); }
  void close_write() { close_one(fds_[1]); }

 private:
  static void close_one(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
  std::array<int, 2> fds_{-1, -1};
};

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<std::string> lines;
  for (char** at = environ; *at != nullptr; at++) {
    const std::string_view line(*at);
    const std::string_view name = line.substr(0, line.find('='));
    bool changed = false;
    for (const auto& [key, value] : changes) changed = changed || key == name;
    if (!changed) lines.emplace_back(line);
  }
  for (const auto& [key, value] : changes) lines.push_back(key + "=" + value);
  return lines;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// A running command. The destructor kills it if it still runs.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  ~Child() {
    if (pid_ > 0) kill_group();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Returns the exit status once the command has ended.
  std::optional<int> poll() {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0)
      return std::nullopt;
    ::kill(-pid_, SIGKILL);  // kills its leftover children; must come before the wait that frees the pid
    int status = 0;
    const pid_t got = ::waitpid(pid_, &status, 0);
    if (got < 0 && errno == EINTR) return std::nullopt;
    pid_ = -1;
    if (got < 0) return 127;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  void kill_group() {
    ::kill(-pid_, SIGTERM);
    const auto deadline = std::chrono::steady_clock::now() + kGrace;
    while (!poll()) {
      if (std::chrono::steady_clock::now() > deadline) ::kill(-pid_, SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  pid_t pid_;
};

// Whether a program exists, at its path or in PATH. Under an emulator, spawning a missing program succeeds,
// so spawning would not show it.
bool is_there(const std::string& program) {
  if (program.find('/') != std::string::npos) return ::access(program.c_str(), X_OK) == 0;
  const char* variable = std::getenv("PATH");
  std::string_view path = variable == nullptr ? "/bin:/usr/bin" : variable;
  while (!path.empty()) {
    const std::string folder(path.substr(0, path.find(':')));
    if (::access((folder + "/" + program).c_str(), X_OK) == 0) return true;
    path.remove_prefix(std::min(path.size(), folder.size() + 1));
  }
  return false;
}

base::Result<pid_t> spawn(const Command& command, const Pipe& out, const Pipe& err) {
  if (!is_there(command.argv[0]))
    return base::error(ErrorCode::not_found, "cannot run {}: {}", command.argv[0], std::strerror(ENOENT));
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out.write_end(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, err.write_end(), STDERR_FILENO);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<std::string> arguments = command.argv;
  std::vector<std::string> environment = environment_with(command.env);
  pid_t pid = -1;
  const int code = ::posix_spawnp(&pid, arguments[0].c_str(), &actions, &attributes,
                                  pointers_to(arguments).data(), pointers_to(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (code != 0)
    return base::error(code == ENOENT ? ErrorCode::not_found : ErrorCode::io, "cannot run {}: {}",
                       command.argv[0], std::strerror(code));
  return pid;
}

// Reads the bytes that are available. Returns false at the end of the stream.
base::Result<bool> drain(int fd, const std::function<base::Status(std::string_view)>& take) {
  std::array<char, 64 * 1024> piece;
  const ssize_t size = ::read(fd, piece.data(), piece.size());
  if (size > 0) {
    TRY_OK(take(std::string_view(piece.data(), static_cast<std::size_t>(size))));
    return true;
  }
  return size < 0 && (errno == EINTR || errno == EAGAIN);
}

}  // namespace

base::Result<CommandResult> run_command(const Command& command, const CommandSink& sink,
                                        std::stop_token stop) {
  CHECK(!command.argv.empty(), "a command needs a program");
  Pipe out;
  Pipe err;
  if (!out.open() || !err.open())
    return base::error(ErrorCode::io, "cannot run {}: {}", command.argv[0], std::strerror(errno));
  TRY(const pid_t pid, spawn(command, out, err));
  Child child(pid);
  out.close_write();
  err.close_write();
  CommandResult result;
  const auto keep = [&](std::string_view text) -> base::Status {
    result.errors += text;
    if (result.errors.size() > kMaxErrorBytes) result.errors.erase(0, result.errors.size() - kMaxErrorBytes);
    return base::ok();
  };
  std::optional<int> ended;
  while (true) {
    if (stop.stop_requested()) return base::error(ErrorCode::cancelled, "cancelled");
    std::array<pollfd, 2> ready{{{out.read_end(), POLLIN, 0}, {err.read_end(), POLLIN, 0}}};
    ::poll(ready.data(), ready.size(), ended ? 0 : kTickMs);
    bool any = false;
    if (ready[0].revents != 0) {
      TRY(const bool more, drain(out.read_end(), sink.output));
      if (!more) out.close_read();
      any = any || more;
    }
    if (ready[1].revents != 0) {
      TRY(const bool more, drain(err.read_end(), keep));
      if (!more) err.close_read();
      any = any || more;
    }
    TRY_OK(sink.tick());
    // The pipes may still have output of a command that has ended. Processes that it left behind may keep the
    // pipes open.
    if (ended && !any) break;
    if (!ended) ended = child.poll();
  }
  result.status = *ended;
  return result;
}

std::string last_line(std::string_view text) {
  text = text.substr(0, text.find_last_not_of("\r\n\t ") + 1);
  text = text.substr(text.find_last_of("\r\n") + 1);
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return std::string(text.substr(0, 300));
}

}  // namespace kvasir::hub
