#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "wire/embed_request.h"
#include "wire/worker_report.h"

namespace kvasir::seam {

// The interface between a router and a worker for models that make vectors. Thread-safe.
class EmbedClient {
 public:
  // The result is [sequences, dimensions], each vector of length 1, or an error.
  using Done = std::function<void(base::Result<std::vector<float>>)>;

  virtual ~EmbedClient() = default;

  // Queues the request. `done` is called once, on the worker's thread, unless the call itself fails: with
  // `exhausted` if the queue is full, with `unavailable` while stopping.
  virtual base::Status embed(wire::EmbedRequest request, Done done) = 0;
  virtual int dimensions() const = 0;
  // The report counts running and waiting requests; there are no blocks.
  virtual wire::WorkerReport report() const = 0;
};

}  // namespace kvasir::seam
