#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "kv/published_blocks.h"
#include "sched/scheduler.h"
#include "sim/modelled_device.h"
#include "wire/block_changes.h"
#include "wire/worker_report.h"

namespace kvasir::sim {

// One worker of a simulated fleet: a real scheduler on a modelled device. The caller keeps the time, and ends
// a step that has begun with end_step() at step_ends_s(). Steps do not overlap.
class ModelledWorker {
 public:
  using OnEvent = std::function<void(const sched::SequenceEvent&, double now_s)>;
  using OnBlocks = std::function<void(const wire::BlockChanges&)>;

  ModelledWorker(const sched::SchedulerOptions& options, const DeviceCosts& costs, std::uint64_t seed);

  // Called at the end of steps.
  void on_event(OnEvent callback) { on_event_ = std::move(callback); }
  void on_blocks(OnBlocks callback) { on_blocks_ = std::move(callback); }

  base::Result<sched::SequenceId> submit(wire::GenerateRequest request, double now_s);
  // Begins a step if none runs and there is something to do.
  void begin_step(double now_s);
  std::optional<double> step_ends_s() const;
  void end_step();

  // The worker's report at this time.
  sched::Outlook outlook(double now_s) const;
  wire::WorkerReport report() const;
  const sched::SchedulerStats& stats() const { return scheduler_.stats(); }
  bool idle() const { return scheduler_.idle(); }

 private:
  struct Running {
    sched::StepPlan plan;
    double began_s = 0;
    double seconds = 0;
  };

  ModelledDevice device_;
  sched::Scheduler scheduler_;
  const std::shared_ptr<kv::PublishedBlocks> published_ = std::make_shared<kv::PublishedBlocks>();
  OnEvent on_event_;
  OnBlocks on_blocks_;
  std::optional<Running> running_;
  std::uint64_t num_changes_ = 1;  // the first message says that the cache is empty
};

}  // namespace kvasir::sim
