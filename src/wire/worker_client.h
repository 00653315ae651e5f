#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>

#include "base/result.h"
#include "wire/generate_request.h"
#include "wire/token_stream.h"

namespace kvasir::wire {

// A worker's state as its callers may know it: for the router, for /v1/models and for /metrics.
struct WorkerReport {
  int num_blocks = 0;
  int num_free_blocks = 0;    // free or holding only cached prefixes
  int num_cached_blocks = 0;  // of the free ones, those that hold a reusable prefix
  int num_running = 0;
  int num_waiting = 0;
  bool progressing = true;  // a step ended lately, or there is nothing to do
  bool failed = false;      // its device did: it computes nothing any more
};

// The seam between the roles: one process or many. Thread-safe.
class WorkerClient {
 public:
  virtual ~WorkerClient() = default;

  // Queues the request; its events go to `reader`. Refuses with `exhausted` when the queue is full, with
  // `unavailable` while draining or after a failure, with `too_large` when the sequence could never fit.
  // The sequence is aborted when the reader that it returns goes.
  virtual base::Result<TokenReader> generate(GenerateRequest request,
                                             boost::asio::any_io_executor reader) = 0;
  virtual WorkerReport report() const = 0;
};

}  // namespace kvasir::wire
