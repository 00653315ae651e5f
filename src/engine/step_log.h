#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "sched/step_plan.h"
#include "wire/activity.h"

namespace kvasir::engine {

// The latest steps of an engine, recorded only while somebody reads them. Written by the engine's thread,
// read by any. Thread-safe.
class StepLog {
 public:
  static constexpr std::size_t kMaxSteps = 512;
  // How long steps are recorded after the last read.
  static constexpr base::Duration kWatched = std::chrono::seconds(5);

  explicit StepLog(const base::Clock& clock) : clock_(clock) {}

  bool is_watched() const;
  // Adds a record, and numbers it.
  void add(wire::StepRecord record);
  // Returns the steps after number `after`. Keeps the recording on for kWatched more.
  std::vector<wire::StepRecord> read(std::uint64_t after);

 private:
  const base::Clock& clock_;
  mutable std::mutex mutex_;
  std::deque<wire::StepRecord> steps_;  // guarded by mutex_; at most kMaxSteps
  std::uint64_t last_ = 0;              // guarded by mutex_; number of the newest step
  std::atomic<base::Duration::rep> watched_until_ns_{0};
};

// The record of a plan whose pointers are still valid. The caller fills in the times.
wire::StepRecord record_of(const sched::StepPlan& plan);

}  // namespace kvasir::engine
