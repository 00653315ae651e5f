#include "obs/log_writer.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>

namespace kvasir::obs {

namespace {

constexpr std::size_t kMostWaiting = std::size_t{4} << 20;  // bytes
constexpr auto kGathering = std::chrono::milliseconds(10);

}  // namespace

LogWriter::LogWriter(int file) : file_(file), thread_([this] { work(); }) {}

LogWriter::~LogWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void LogWriter::put(std::string_view before, std::string_view after, Urgency urgency) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() > kMostWaiting) waiting_.clear();
    waiting_ += before;
    append_time(lock);
    waiting_ += after;
    waiting_ += '\n';
    const bool hurry = urgency == Urgency::at_once && !hurries_;
    hurries_ = hurries_ || hurry;
    wake = sleeps_ || hurry;
    sleeps_ = false;
  }
  if (wake) changed_.notify_one();
}

void LogWriter::append_time(const std::lock_guard<std::mutex>&) {
  using std::chrono::milliseconds;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::int64_t ms = std::chrono::duration_cast<milliseconds>(now).count();
  if (const std::time_t second = ms / 1000; second != second_) {
    second_ = second;
    second_text_ = fmt::format("{:%Y-%m-%dT%H:%M:%S}", fmt::gmtime(second));
  }
  waiting_ += second_text_;
  const fmt::format_int thousandths(1000 + ms % 1000);  // "1123": its last three digits
  waiting_ += '.';
  waiting_.append(thousandths.data() + 1, 3);
  waiting_ += 'Z';
}

void LogWriter::work() {
  std::unique_lock lock(mutex_);
  std::string lines;
  while (true) {
    sleeps_ = waiting_.empty();
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    changed_.wait_for(lock, kGathering, [this] { return stopping_ || hurries_; });
    if (waiting_.empty()) return;
    std::swap(lines, waiting_);
    hurries_ = false;
    lock.unlock();
    write_all(lines);
    lines.clear();
    lock.lock();
  }
}

// A line that cannot be written is lost: there is no place to report that.
void LogWriter::write_all(std::string_view lines) const {
  while (!lines.empty()) {
    const ssize_t written = ::write(file_, lines.data(), lines.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    lines.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace kvasir::obs
