#include "remote/worker_view.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/clock.h"
#include "kv/block.h"
#include "remote/codec.h"

namespace kvasir::remote {

namespace {

constexpr std::size_t kMostSteps = 2048;
constexpr double kDrift = 1e-4;  // by which two clocks differ at most

double steady_now_s() {
  return base::seconds(std::chrono::steady_clock::now().time_since_epoch());
}

sched::WaitingLine line_of(const wire::GenerateRequest& request) {
  const std::size_t num_tokens = request.prefill ? kv::kBlockTokens : request.prompt.size();
  return {.tenant = sched::tenant_hash(request.origin.tenant),
          .priority = request.priority,
          .weight = static_cast<double>(request.origin.weight),
          .num_tokens = static_cast<double>(num_tokens),
          .num_sequences = 1};
}

}  // namespace

WorkerView::WorkerView(int num_blocks) : report_{.num_blocks = num_blocks, .num_free_blocks = num_blocks} {}

base::Status WorkerView::take_report(const proto::Report& message) {
  TRY(prospect_, decode_prospect(message));
  report_ = decode_report(message);
  reported_s_ = steady_now_s();
  // The smallest offset seen is the closest to the truth, since delays only make it larger.
  // It may grow a little all the same, since clocks drift apart.
  const double offset_s = reported_s_ - message.now_s();
  if (std::isfinite(offset_s)) {
    const double grown_s = offset_s_ + kDrift * (reported_s_ - offset_at_s_);
    offset_s_ = knows_offset_ ? std::min(grown_s, offset_s) : offset_s;
    offset_at_s_ = reported_s_;
    knows_offset_ = true;
  }
  std::erase_if(sent_, [&](const Sent& one) { return one.stream <= message.last_stream(); });
  return base::ok();
}

void WorkerView::take_activity(const proto::Activity& message) {
  activity_ = decode(message);
  activity_.now_s += offset_s_;
  for (wire::StepRecord& step : std::exchange(activity_.steps, {})) {
    if (step.number <= last_step()) continue;
    step.started_s += offset_s_;
    steps_.push_back(std::move(step));
    if (steps_.size() > kMostSteps) steps_.pop_front();
  }
}

void WorkerView::sent(std::uint64_t stream, const wire::GenerateRequest& request) {
  sent_.push_back({stream, line_of(request)});
}

void WorkerView::ended(std::uint64_t stream) {
  std::erase_if(sent_, [stream](const Sent& one) { return one.stream == stream; });
}

void WorkerView::to_this_clock(wire::TokenEvent& event) const {
  for (wire::PrefillChunk& chunk : event.prefill) {
    chunk.began_s += offset_s_;
    chunk.ended_s += offset_s_;
  }
}

wire::WorkerReport WorkerView::report() const {
  wire::WorkerReport report = report_;
  report.num_waiting = num_waiting();
  for (const Sent& one : sent_) ++report.waiting[one.line.priority];
  return report;
}

seam::Prospect WorkerView::prospect() const {
  seam::Prospect prospect = prospect_;
  prospect.age_s += steady_now_s() - reported_s_;
  for (const Sent& one : sent_) prospect.arrived.push_back(one.line);
  return prospect;
}

wire::Activity WorkerView::activity(std::uint64_t after_step) const {
  wire::Activity activity = activity_;
  for (const wire::StepRecord& step : steps_)
    if (step.number > after_step) activity.steps.push_back(step);
  return activity;
}

}  // namespace kvasir::remote
