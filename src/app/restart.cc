#include "app/restart.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>

#include "config/environment.h"

namespace kvasir::app {

namespace {

constexpr const char* kVariable = "KVASIR_RESTARTED_AT";
constexpr std::size_t kMaxRecent = 100;
constexpr int kMaxInheritedFd = 1 << 16;  // the highest descriptor to mark if close_range is missing

std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::vector<std::string> arguments;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\0', at), bytes.size());
    arguments.push_back(bytes.substr(at, end - at));
    at = end + 1;
  }
  return arguments;
}

std::vector<std::string> environment_with(const RestartHistory& history) {
  const std::string name = std::string(kVariable) + "=";
  std::vector<std::string> lines;
  for (char** at = environ; *at != nullptr; ++at)
    if (!std::string_view(*at).starts_with(name)) lines.emplace_back(*at);
  lines.push_back(name + history.text());
  return lines;
}

// The program's path, so that tools show its name. If the file was replaced meanwhile, the link is used
// instead, since the path would lead to another version.
std::string own_program() {
  constexpr const char* kLink = "/proc/self/exe";
  std::string path(4096, '\0');
  const ssize_t size = ::readlink(kLink, path.data(), path.size());
  if (size <= 0 || static_cast<std::size_t>(size) == path.size()) return kLink;
  path.resize(static_cast<std::size_t>(size));
  return ::access(path.c_str(), X_OK) == 0 ? path : kLink;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

RestartHistory RestartHistory::of_this_process() {
  return parse(config::environment(kVariable));
}

RestartHistory RestartHistory::parse(std::string_view text) {
  std::vector<std::int64_t> numbers;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end; ++at) {  // skips the space after a number
    std::int64_t number = 0;
    const auto [stopped, problem] = std::from_chars(at, end, number);
    const bool ends_well = problem == std::errc() && (stopped == end || *stopped == ' ');
    if (!ends_well || number < 0 || numbers.size() > kMaxRecent) return {};
    numbers.push_back(number);
    at = stopped;
  }
  RestartHistory history;
  if (numbers.empty()) return history;
  history.num_restarts_ = static_cast<int>(std::min<std::int64_t>(numbers.front(), 1 << 30));
  history.recent_s_.assign(numbers.begin() + 1, numbers.end());
  return history;
}

std::string RestartHistory::text() const {
  std::string text = std::to_string(num_restarts_);
  for (const std::int64_t at : recent_s_) text += " " + std::to_string(at);
  return text;
}

void RestartHistory::add(std::int64_t now_s) {
  ++num_restarts_;
  recent_s_.push_back(now_s);
  if (recent_s_.size() > kMaxRecent) recent_s_.erase(recent_s_.begin());
}

int RestartHistory::num_in_window(std::int64_t now_s) const {
  return static_cast<int>(
      std::ranges::count_if(recent_s_, [&](std::int64_t at) { return now_s - at < kWindowS; }));
}

base::Error restart_process(RestartHistory history, const std::vector<std::string>& more_arguments) {
  history.add(monotonic_s());
  std::vector<std::string> arguments = own_arguments();
  arguments.insert(arguments.end(), more_arguments.begin(), more_arguments.end());
  std::vector<std::string> lines = environment_with(history);
  const std::string program = own_program();
  const std::vector<char*> argv = pointers_to(arguments);
  const std::vector<char*> envp = pointers_to(lines);
  sigset_t handled;
  ::sigemptyset(&handled);
  ::sigaddset(&handled, SIGINT);
  ::sigaddset(&handled, SIGTERM);
  ::pthread_sigmask(SIG_UNBLOCK, &handled, nullptr);
  if (::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) != 0)
    for (int fd = 3; fd < kMaxInheritedFd; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  ::execve(program.c_str(), argv.data(), envp.data());
  return base::error(base::ErrorCode::io, "cannot start {} again: {}", program, std::strerror(errno));
}

std::int64_t monotonic_s() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace kvasir::app
