#include "app/progress_line.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "app/say.h"

namespace kvasir::app {

namespace {

constexpr std::chrono::milliseconds kRedraw{100};
constexpr std::chrono::seconds kPlainInterval{5};

std::size_t terminal_width() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return 80;
  return size.ws_col;
}

}  // namespace

ProgressLine::ProgressLine() : terminal_(::isatty(STDERR_FILENO) == 1), last_(clock_.now()) {}

ProgressLine::~ProgressLine() {
  clear();
}

void ProgressLine::show(std::string_view text) {
  const base::TimePoint now = clock_.now();
  if (now - last_ < (terminal_ ? base::Duration(kRedraw) : base::Duration(kPlainInterval))) return;
  last_ = now;
  if (terminal_)
    say(stderr, "\r\x1b[K{}", text.substr(0, terminal_width() - 1));
  else
    say(stderr, "{}\n", text);
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressLine::clear() {
  if (terminal_ && drawn_) {
    say(stderr, "\r\x1b[K");
    std::fflush(stderr);
  }
  drawn_ = false;
}

}  // namespace kvasir::app
