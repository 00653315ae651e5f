#include "sim/modelled_worker.h"

#include <algorithm>
#include <utility>

namespace kvasir::sim {

namespace {

constexpr TokenId kAnswer = 1;

}  // namespace

ModelledWorker::ModelledWorker(const sched::SchedulerOptions& options, const DeviceCosts& costs,
                               std::uint64_t seed)
    : device_(costs, seed), scheduler_(options) {
  scheduler_.publish_to(published_);
  (void)published_->follow();
}

base::Result<sched::SequenceId> ModelledWorker::submit(wire::GenerateRequest request, double now_s) {
  scheduler_.set_now(now_s);
  return scheduler_.submit(std::move(request));
}

void ModelledWorker::begin_step(double now_s) {
  if (running_) return;
  scheduler_.set_now(now_s);
  sched::StepPlan plan = scheduler_.plan();
  if (plan.empty()) return;
  scheduler_.begin(plan);
  const double seconds = device_.run_s(plan.load);
  running_ = {.plan = std::move(plan), .began_s = now_s, .seconds = seconds};
}

std::optional<double> ModelledWorker::step_ends_s() const {
  if (!running_) return std::nullopt;
  return running_->began_s + running_->seconds;
}

void ModelledWorker::end_step() {
  const double now_s = *step_ends_s();
  const Running ended = *std::exchange(running_, std::nullopt);
  sched::StepResult result;
  result.seconds = ended.seconds;
  for (const sched::StepPlan::Slice& slice : ended.plan.slices) {
    sched::StepResult::Outcome& outcome = result.outcomes.emplace_back();
    if (slice.wants_token()) outcome.token = wire::Token{.id = kAnswer};
  }
  scheduler_.set_now(now_s);
  const std::vector<sched::SequenceEvent> events = scheduler_.finish(ended.plan, std::move(result));
  kv::PublishedBlocks::Changes changes = published_->take_changes();
  if (!changes.added.empty() || !changes.removed.empty())
    on_blocks_(
        {.number = ++num_changes_, .added = std::move(changes.added), .removed = std::move(changes.removed)});
  for (const sched::SequenceEvent& event : events) on_event_(event, now_s);
}

sched::Outlook ModelledWorker::outlook(double now_s) const {
  sched::Outlook outlook = scheduler_.outlook();
  if (running_) outlook.in_flight_s = std::max(0.0, running_->plan.predicted_s - (now_s - running_->began_s));
  return outlook;
}

wire::WorkerReport ModelledWorker::report() const {
  return {.num_blocks = scheduler_.options().num_blocks,
          .num_free_blocks = scheduler_.pool().num_available(),
          .num_cached_blocks = scheduler_.pool().num_cached(),
          .num_running = scheduler_.num_running(),
          .num_waiting = scheduler_.num_waiting()};
}

}  // namespace kvasir::sim
