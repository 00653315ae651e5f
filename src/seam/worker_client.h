#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "kv/block_image.h"
#include "sched/outlook.h"
#include "seam/block_sink.h"
#include "seam/token_stream.h"
#include "wire/activity.h"
#include "wire/forecast.h"
#include "wire/generate_request.h"
#include "wire/worker_report.h"

namespace kvasir::seam {

// What a worker's forecasts are made of, for a process that makes them elsewhere.
struct Prospect {
  std::shared_ptr<const sched::Outlook> outlook;  // null: nothing is known yet
  std::vector<sched::WaitingLine> arrived;        // requests that came after it was made
  double age_s = 0;                               // since it was made
};

// The seam between the roles: one process or many. Thread-safe.
class WorkerClient {
 public:
  virtual ~WorkerClient() = default;

  // Queues the request; its events go to `reader`. Refuses with `exhausted` when the queue is full, with
  // `unavailable` while draining or after a failure, with `too_large` when the sequence could never fit.
  // The sequence is aborted when the reader that it returns goes.
  virtual base::Result<TokenReader> generate(wire::GenerateRequest request,
                                             boost::asio::any_io_executor reader) = 0;
  // What a request would get if it came now. Never waits for a step.
  virtual wire::Forecast forecast(const wire::Outline& outline) const = 0;
  virtual Prospect prospect() const { return {}; }
  virtual wire::WorkerReport report() const = 0;
  // The form in which its blocks leave and enter; without a name they do neither.
  virtual kv::BlockForm block_form() const { return {}; }
  // How many of the chain's first blocks its cache holds.
  virtual int num_cached_blocks(const kv::BlockChain& chain) const {
    (void)chain;
    return 0;
  }
  // What it does, with the steps after number `after_step`. Steps are recorded only while somebody asks.
  virtual wire::Activity activity(std::uint64_t after_step) {
    (void)after_step;
    return {};
  }
  // Tells the sink of all blocks in the cache, then of each step's changes. There is one sink: this takes the
  // place of the one before, which may still get a message that was on its way. Null: nobody watches. A
  // worker that cannot tell does nothing.
  virtual void watch_blocks(std::shared_ptr<BlockSink> sink) { (void)sink; }
};

}  // namespace kvasir::seam
