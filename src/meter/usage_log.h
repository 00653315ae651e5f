#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace kvasir::meter {

// Called once: what was appended is on the disk, or nobody is to wait for it any longer. It may be called
// with a lock held, on any thread, and must not block.
using Done = std::function<void()>;

// Appends to a log. A thread of its own writes whatever has gathered in one piece and syncs it; while the
// disk fails (it is full, mostly) what waits is kept in memory up to a bound, and written once it can be.
// Thread-safe; no call blocks on the disk.
class UsageLog {
 public:
  struct Options {
    std::int64_t max_segment_bytes = std::int64_t{1} << 20;
    std::size_t max_waiting_bytes = std::size_t{32} << 20;
    base::Duration first_pause = std::chrono::milliseconds(100);  // doubled while the disk fails
    base::Duration max_pause = std::chrono::seconds(5);
    std::function<void()> before_sync = {};  // for tests: a disk that is slow
  };
  // `begin` is after every position that was used in the folder before. The folder outlives the log.
  UsageLog(std::filesystem::path folder, std::int64_t begin, Options options);
  ~UsageLog();
  UsageLog(const UsageLog&) = delete;
  UsageLog& operator=(const UsageLog&) = delete;

  // `done` may be empty. What does not fit into the memory any more is lost and counted.
  void append(std::string bytes, Done done);
  // Writes what waits, unless the disk fails still. Nothing is to be appended later.
  void stop();
  // Nobody waits from now on: what was to be called has been, and what is appended later is at once.
  void release_waiters();

  // Everything before it is on the disk.
  std::int64_t durable_end() const { return durable_end_; }
  std::uint64_t num_lost() const { return num_lost_; }

 private:
  struct Waiter {
    std::uint64_t number;  // of the record
    Done done;
  };

  void work();
  base::Status write(const std::vector<std::string>& records);
  base::Status open_segment();
  base::Status put(const std::string& frames);
  void close_segment();
  // Calls those whose records are among the first `num_written`. Not under the lock, which it takes again.
  void tell(std::unique_lock<std::mutex>& lock, std::uint64_t num_written);
  void note(const base::Status& written);
  void count_lost(std::uint64_t num_records);

  const std::filesystem::path folder_;
  const Options options_;
  std::atomic<std::int64_t> durable_end_;
  std::atomic<std::uint64_t> num_lost_{0};

  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable told_;
  std::vector<std::string> waiting_;  // guarded by mutex_
  std::size_t num_bytes_ = 0;         // guarded by mutex_: of all that is not on the disk
  std::uint64_t num_appended_ = 0;    // guarded by mutex_
  std::deque<Waiter> waiters_;        // guarded by mutex_: by their numbers
  bool telling_ = false;              // guarded by mutex_: some are being called
  bool released_ = false;             // guarded by mutex_
  bool stopping_ = false;             // guarded by mutex_

  // The thread's own.
  int file_ = -1;  // -1: the next record begins a segment
  std::int64_t segment_begin_ = 0;
  bool failing_ = false;
  std::thread thread_;
};

}  // namespace kvasir::meter
