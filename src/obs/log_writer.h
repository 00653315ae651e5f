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

// Writes lines to a file descriptor on its own thread, many with one write: after a first line the thread
// waits a moment for more, so that a busy server's log costs few wake-ups. If more than 4 MiB wait, all
// waiting lines are dropped. Thread-safe. The destructor writes the waiting lines.
class LogWriter {
 public:
  enum class Urgency { may_wait, at_once };

  explicit LogWriter(int file);
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // Adds a line that consists of `before`, the time and `after`.
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
  std::string second_text_;  // of the latest line's second; guarded by mutex_
  std::time_t second_ = -1;  // the second that second_text_ shows; guarded by mutex_
  bool sleeps_ = false;      // guarded by mutex_; the thread waits for a first line
  bool hurries_ = false;     // guarded by mutex_
  bool stopping_ = false;    // guarded by mutex_
  std::thread thread_;
};

}  // namespace kvasir::obs
