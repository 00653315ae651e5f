#include "engine/step_log.h"

#include <utility>

namespace kvasir::engine {

bool StepLog::is_watched() const {
  return clock_.now().time_since_epoch().count() < watched_until_ns_.load(std::memory_order_relaxed);
}

void StepLog::add(wire::StepRecord record) {
  const std::lock_guard lock(mutex_);
  record.number = ++last_;
  steps_.push_back(std::move(record));
  if (steps_.size() > kMaxSteps) steps_.pop_front();
}

std::vector<wire::StepRecord> StepLog::read(std::uint64_t after) {
  watched_until_ns_.store((clock_.now() + kWatched).time_since_epoch().count(), std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  std::vector<wire::StepRecord> newer;
  for (const wire::StepRecord& record : steps_)
    if (record.number > after) newer.push_back(record);
  return newer;
}

wire::StepRecord record_of(const sched::StepPlan& plan) {
  wire::StepRecord record;
  record.predicted_s = plan.predicted_s;
  record.num_preempted = static_cast<int>(plan.preempted.size());
  for (const sched::StepPlan::Slice& slice : plan.slices) {
    if (record.slices.size() == wire::StepRecord::kMaxSlices) {
      record.num_other_rows += slice.num_rows;
      continue;
    }
    record.slices.push_back({.request_id = slice.request->origin.request_id,
                             .tenant = slice.request->origin.tenant,
                             .num_rows = slice.num_rows,
                             .is_prompt = slice.num_computed < slice.num_prompt - 1 || slice.num_rows > 1});
  }
  return record;
}

}  // namespace kvasir::engine
