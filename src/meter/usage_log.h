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

// Called once, on any thread: when the record is on the disk, or when the wait for it is given up. Must not
// block.
using Done = std::function<void()>;

// Whether a record wakes the writing thread if no other record waits. A caller with several records uses
// `later` and then wakes the thread once, so that the records share a sync.
enum class Wake { now, later };

// Appends records to a log. Its own thread writes all waiting records with one write and one sync. While the
// disk fails (usually because it is full), records wait in memory up to a bound and are written later.
// Thread-safe. Only `stop` waits for the disk.
class UsageLog {
 public:
  struct Options {
    std::int64_t max_segment_bytes = std::int64_t{1} << 20;
    std::size_t max_waiting_bytes = std::size_t{32} << 20;
    base::Duration first_pause = std::chrono::milliseconds(100);  // doubled while the disk fails
    base::Duration max_pause = std::chrono::seconds(5);
    std::function<void()> before_sync = {};  // for tests: simulates a slow disk
  };
  // `begin` must not be before any position that was used earlier.
  UsageLog(std::filesystem::path folder, std::int64_t begin, Options options);
  ~UsageLog();
  UsageLog(const UsageLog&) = delete;
  UsageLog& operator=(const UsageLog&) = delete;

  // `done` may be empty. A record that does not fit into memory is lost and counted. Returns true if the
  // caller must call `wake` soon, because the thread was not woken for the waiting records.
  bool append(std::string bytes, Done done, Wake wake = Wake::now);
  void wake() { changed_.notify_one(); }
  // Writes the waiting records, unless the disk still fails, and ends the thread. Append nothing afterwards.
  void stop();
  // Calls every waiting `done`. A later `append` calls its `done` at once.
  void release_waiters();

  // Everything before this position is on the disk.
  std::int64_t durable_end() const { return durable_end_; }
  // True if no record waits to be written.
  bool all_on_disk() const {
    const std::lock_guard lock(mutex_);
    return num_bytes_ == 0;
  }
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
  // Calls `done` for the first `num_written` records. Releases the lock during the calls.
  void tell(std::unique_lock<std::mutex>& lock, std::uint64_t num_written);
  void note(const base::Status& written);
  void count_lost(std::uint64_t num_records);

  const std::filesystem::path folder_;
  const Options options_;
  std::atomic<std::int64_t> durable_end_;
  std::atomic<std::uint64_t> num_lost_{0};

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable told_;
  std::vector<std::string> waiting_;  // guarded by mutex_
  std::size_t num_bytes_ = 0;         // bytes of all records that are not on the disk; guarded by mutex_
  std::uint64_t num_appended_ = 0;    // guarded by mutex_
  std::deque<Waiter> waiters_;        // sorted by number; guarded by mutex_
  bool telling_ = false;              // some are being called now; guarded by mutex_
  bool released_ = false;             // guarded by mutex_
  bool stopping_ = false;             // guarded by mutex_

  // Touched by the thread only.
  int file_ = -1;  // -1: the next record begins a segment
  std::int64_t segment_begin_ = 0;
  bool failing_ = false;
  std::thread thread_;
};

}  // namespace kvasir::meter
