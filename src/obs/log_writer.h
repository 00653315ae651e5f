#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <ctime>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace kvasir::obs {

// Writes lines to a file descriptor on a thread of its own, many with one write: after a first line the
// thread waits a moment for others, so that a busy server's log costs few wake-ups. Lines that cannot be
// written soon enough are dropped, the oldest first. Thread-safe. The destructor writes what waits.
class LogWriter {
 public:
  enum class Urgency { may_wait, at_once };

  explicit LogWriter(int file);
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // Adds `before`, the time, `after` and the end of a line.
  void put(std::string_view before, std::string_view after, Urgency urgency);

 private:
  // "2026-11-18T20:15:07.123Z"
  void append_time(const std::lock_guard<std::mutex>& lock);
  void work();
  void write_all(std::string_view lines) const;

  const int file_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string waiting_;      // guarded by mutex_
  std::string second_text_;  // guarded by mutex_; of the latest line
  std::time_t second_ = -1;  // guarded by mutex_; likewise
  bool sleeps_ = false;      // guarded by mutex_; the thread waits for a first line
  bool hurries_ = false;     // guarded by mutex_
  bool stopping_ = false;    // guarded by mutex_
  std::thread thread_;
};

}  // namespace kvasir::obs
