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

// The data behind a worker's forecasts, for a process that makes forecasts elsewhere.
struct Prospect {
  std::shared_ptr<const sched::Outlook> outlook;  // null: nothing is known yet
  std::vector<sched::WaitingLine> arrived;        // requests that came after the outlook was made
  double age_s = 0;                               // age of the outlook
};

// The interface between a router and a worker, in one process or in two. Thread-safe.
class WorkerClient {
 public:
  virtual ~WorkerClient() = default;

  // Queues the request; `reader` reads its events. Fails with `exhausted` if the queue is full, with
  // `unavailable` while draining or after a failure, with `too_large` if the sequence could never fit. The
  // sequence is aborted when the returned reader is destroyed.
  virtual base::Result<TokenReader> generate(wire::GenerateRequest request,
                                             boost::asio::any_io_executor reader) = 0;
  // The forecast for a request that comes now. Never waits for a step.
  virtual wire::Forecast forecast(const wire::Outline& outline) const = 0;
  virtual Prospect prospect() const { return {}; }
  virtual wire::WorkerReport report() const = 0;
  // The form in which its blocks are sent and received. Without a name, they are neither.
  virtual kv::BlockForm block_form() const { return {}; }
  // How many of the chain's first blocks the cache holds.
  virtual int num_cached_blocks(const kv::BlockChain& chain) const {
    (void)chain;
    return 0;
  }
  // The worker's activity, with the steps after number `after_step`. Steps are recorded only while a viewer
  // asks.
  virtual wire::Activity activity(std::uint64_t after_step) {
    (void)after_step;
    return {};
  }
  // Sends all blocks in the cache to the sink, then each step's changes. There is one sink: a new one
  // replaces the old one, which may still get a message that was on its way. Null: no sink. A worker that
  // cannot report its blocks does nothing.
  virtual void watch_blocks(std::shared_ptr<BlockSink> sink) { (void)sink; }
};

}  // namespace kvasir::seam
