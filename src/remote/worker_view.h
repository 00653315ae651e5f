#pragma once

#include <kvasir.pb.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "base/result.h"
#include "sched/scheduler.h"
#include "seam/worker_client.h"

namespace kvasir::remote {

// A gateway's knowledge of a worker: its last report, the requests sent to it since, and its last steps.
// Times are by this process's clock. Only this folder includes this header.
class WorkerView {
 public:
  WorkerView() = default;
  explicit WorkerView(int num_blocks);

  base::Status take_report(const proto::Report& message);
  void take_activity(const proto::Activity& message);
  // Adds a request that no report counts yet.
  void sent(std::uint64_t stream, const wire::GenerateRequest& request);
  // The stream is over, whether a report has counted it or not.
  void ended(std::uint64_t stream);
  // Forgets the sent requests, since the worker is gone.
  void forget_sent() { sent_.clear(); }
  void to_this_clock(wire::TokenEvent& event) const;

  wire::WorkerReport report() const;
  int num_waiting() const { return report_.num_waiting + static_cast<int>(sent_.size()); }
  bool failed() const { return report_.failed; }
  seam::Prospect prospect() const;
  wire::Activity activity(std::uint64_t after_step) const;
  // The last known step; 0: none.
  std::uint64_t last_step() const { return steps_.empty() ? 0 : steps_.back().number; }

 private:
  struct Sent {
    std::uint64_t stream;
    sched::WaitingLine line;
  };

  double offset_s_ = 0;  // this clock minus the worker's
  double offset_at_s_ = 0;
  bool knows_offset_ = false;
  wire::WorkerReport report_;
  seam::Prospect prospect_;  // as of reported_s_
  double reported_s_ = 0;
  std::vector<Sent> sent_;
  std::deque<wire::StepRecord> steps_;
  wire::Activity activity_;  // the last activity, without steps
};

}  // namespace kvasir::remote
