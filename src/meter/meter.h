#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "meter/log_fold.h"
#include "meter/log_folder.h"
#include "meter/price_book.h"
#include "meter/usage_log.h"
#include "meter/usage_record.h"
#include "store/usage.h"

namespace kvasir::meter {

// Records usage and its cost. A record goes to a log on the local disk first; a thread folds the log into the
// store's totals a moment later. Thread-safe.
class Meter {
 public:
  struct Options {
    std::filesystem::path folder;  // of all logs; several processes may share it
    std::vector<Price> prices = {};
    UsageLog::Options log = {};
    base::Duration fold_interval = std::chrono::milliseconds(250);
  };
  // Also takes over the logs of processes that have ended. The store outlives the meter.
  static base::Result<std::unique_ptr<Meter>> open(Options options, store::Usage& usage);
  // Writes and folds the remaining records, unless the disk or the store fails.
  ~Meter();
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  const PriceBook& prices() const { return prices_; }
  // Sets the record's cost and writes the record. Never blocks. `done`, which may be empty, is called when
  // the record is on the disk. For `wake` and the result see UsageLog::append.
  bool record(UsageRecord record, std::string_view tier, Done done, Wake wake = Wake::now);
  void wake() { log_.wake(); }
  // Calls every waiting `done`, so that the objects that they refer to may be destroyed.
  void release_waiters() { log_.release_waiters(); }
  // Records that were lost because the disk failed for too long.
  std::uint64_t num_lost() const { return log_.num_lost(); }
  // How long ago the store's totals last contained all records; 0: they do now.
  base::Duration lag() const;

 private:
  Meter(Options options, LogFolder own, std::int64_t begin, store::Usage& usage);
  void fold_repeatedly();
  base::Status fold_once();
  // Folds, and notes the time if the totals then contain all records.
  base::Status fold_and_note();
  base::Status fold_left();

  const PriceBook prices_;
  const base::Duration fold_interval_;
  store::Usage& usage_;
  LogFolder own_;
  std::vector<LogFolder> left_;  // of processes that have ended; touched by the thread only
  UsageLog log_;
  LogFold fold_;  // touched by the thread only
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;                        // guarded by mutex_
  std::atomic<base::TimePoint> last_recorded_;   // time of the last record
  std::atomic<base::TimePoint> last_caught_up_;  // the last time at which the totals had all records
  std::thread thread_;
};

}  // namespace kvasir::meter
