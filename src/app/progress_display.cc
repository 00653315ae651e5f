#include "app/progress_display.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace kvasir::app {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kRedraw{100};
constexpr seconds kPlainInterval{5};
constexpr seconds kRateWindow{5};
constexpr double kLeastRate = 100'000;  // bytes per second; at lower rates no remaining time is shown

double megabytes(std::uint64_t bytes) {
  return static_cast<double>(bytes) / 1e6;
}

int percent(std::uint64_t done, std::uint64_t total) {
  return total == 0 ? 0 : static_cast<int>(static_cast<double>(done) / static_cast<double>(total) * 100);
}

}  // namespace

ProgressDisplay::ProgressDisplay(Options options) : options_(std::move(options)) {}

ProgressDisplay::~ProgressDisplay() {
  const std::lock_guard lock(mutex_);
  if (options_.terminal && num_drawn_ > 0) draw();
}

ProgressDisplay::Row& ProgressDisplay::row_of(std::string_view model) {
  for (Row& row : rows_)
    if (row.model == model) return row;
  rows_.push_back({.model = std::string(model), .samples = {}});
  rows_.back().printed = options_.clock->now();
  return rows_.back();
}

void ProgressDisplay::bytes(std::string_view model, std::uint64_t done, std::uint64_t total) {
  const std::lock_guard lock(mutex_);
  Row& row = row_of(model);
  const base::TimePoint now = options_.clock->now();
  const bool finished = done == total && row.done != total;
  if (done < row.done) row.samples.clear();
  row.done = done;
  row.total = total;
  if (row.samples.empty() || now - row.samples.back().at >= kRedraw) row.samples.push_back({now, done});
  while (row.samples.size() > 1 && now - row.samples.front().at > kRateWindow) row.samples.pop_front();
  if (options_.terminal) {
    if (!finished && num_drawn_ > 0 && now - drawn_at_ < kRedraw) return;
    draw();
  } else if (finished || now - row.printed >= kPlainInterval) {
    row.printed = now;
    options_.write(line_of(row) + "\n");
  }
}

void ProgressDisplay::note(std::string_view model, std::string_view sentence) {
  const std::lock_guard lock(mutex_);
  if (options_.terminal && num_drawn_ > 0) {
    options_.write(fmt::format("\x1b[{}A\x1b[J", num_drawn_));
    num_drawn_ = 0;
  }
  options_.write(fmt::format("{}: {}\n", model, sentence));
  if (options_.terminal && !rows_.empty()) draw();
}

void ProgressDisplay::draw() {
  std::string text;
  if (num_drawn_ > 0) text = fmt::format("\x1b[{}A", num_drawn_);
  for (const Row& row : rows_) text += "\r\x1b[K" + line_of(row) + "\n";
  num_drawn_ = static_cast<int>(rows_.size());
  drawn_at_ = options_.clock->now();
  options_.write(text);
}

std::string ProgressDisplay::line_of(const Row& row) const {
  if (row.done == row.total && row.total > 0)
    return fmt::format("{:<14} {:>6.1f} MB  100%", row.model, megabytes(row.total));
  std::string speed;
  if (row.samples.size() > 1) {
    const double time = base::seconds(row.samples.back().at - row.samples.front().at);
    const double rate = static_cast<double>(row.done - std::min(row.done, row.samples.front().done)) / time;
    if (rate >= kLeastRate) {
      const auto left = static_cast<long>(static_cast<double>(row.total - row.done) / rate + 0.5);
      speed = fmt::format("  {:.1f} MB/s  {}:{:02} left", rate / 1e6, left / 60, left % 60);
    }
  }
  const std::string numbers = fmt::format("{:>6.1f} of {:.1f} MB  {:>3}%{}", megabytes(row.done),
                                          megabytes(row.total), percent(row.done, row.total), speed);
  if (!options_.terminal) return fmt::format("{:<14} {}", row.model, numbers);
  const int room = options_.width - 1 - 14 - 2 - 52;
  const std::string bar = room >= 10 ? bar_of(row, std::min(room, 40)) + " " : "";
  return fmt::format("{:<14} {}{}", row.model, bar, numbers).substr(0, std::max(1, options_.width - 1));
}

std::string ProgressDisplay::bar_of(const Row& row, int num_cells) const {
  const int full = num_cells * percent(row.done, row.total) / 100;
  return "[" + std::string(full, '#') + std::string(num_cells - full, '-') + "]";
}

ProgressDisplay::Options stderr_progress() {
  static const base::RealClock clock;
  ProgressDisplay::Options options;
  options.clock = &clock;
  options.terminal = ::isatty(STDERR_FILENO) == 1;
  winsize size{};
  if (options.terminal && ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    options.width = size.ws_col;
  options.write = [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  };
  return options;
}

}  // namespace kvasir::app
