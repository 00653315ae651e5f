#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "sched/outlook.h"
#include "seam/worker_client.h"
#include "sim/modelled_worker.h"

namespace kvasir::sim {

// One gateway's knowledge of one worker: the last report, the blocks at that time, and the requests that this
// gateway has sent since then. It is never asked to generate.
class WorkerView final : public seam::WorkerClient {
 public:
  // `is_live`: there is no time between reports, so the view is always up to date.
  WorkerView(const ModelledWorker& worker, const double& now_s, bool is_live)
      : worker_(worker), now_s_(now_s), is_live_(is_live) {
    refresh();
  }

  // Takes a report, with the blocks that have changed since the last one.
  void refresh() {
    outlook_ = worker_.outlook(now_s_);
    report_ = worker_.report();
    at_s_ = now_s_;
    sent_.clear();
    if (sink_)
      for (wire::BlockChanges& changes : std::exchange(unread_, {})) sink_->on_blocks(std::move(changes));
  }
  void note_blocks(const wire::BlockChanges& changes) {
    if (is_live_ && sink_)
      sink_->on_blocks(changes);
    else
      unread_.push_back(changes);
  }
  void note_sent(const wire::GenerateRequest& request) {
    sent_.push_back({.tenant = sched::tenant_hash(request.origin.tenant),
                     .num_tokens = static_cast<double>(request.prompt.size()),
                     .num_sequences = 1});
  }

  base::Result<seam::TokenReader> generate(wire::GenerateRequest, boost::asio::any_io_executor) override {
    return base::error(base::ErrorCode::unsupported, "a view generates nothing");
  }
  wire::Forecast forecast(const wire::Outline& outline) const override {
    const int num_cached = outline.num_cached_tokens.value_or(0);
    if (is_live_) return sched::forecast(worker_.outlook(now_s_), {}, outline, num_cached, 0);
    return sched::forecast(outlook_, sent_, outline, num_cached, now_s_ - at_s_);
  }
  wire::WorkerReport report() const override {
    if (is_live_) return worker_.report();
    wire::WorkerReport report = report_;
    report.num_waiting += static_cast<int>(sent_.size());
    return report;
  }
  void watch_blocks(std::shared_ptr<seam::BlockSink> sink) override {
    sink_ = std::move(sink);
    if (sink_) sink_->on_blocks({.number = 1, .anew = true});
  }

 private:
  const ModelledWorker& worker_;
  const double& now_s_;
  const bool is_live_;
  sched::Outlook outlook_;
  wire::WorkerReport report_;
  double at_s_ = 0;  // time of report_
  std::vector<sched::WaitingLine> sent_;
  std::vector<wire::BlockChanges> unread_;
  std::shared_ptr<seam::BlockSink> sink_;
};

}  // namespace kvasir::sim
