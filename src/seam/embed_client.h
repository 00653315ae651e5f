#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "wire/embed_request.h"
#include "wire/worker_report.h"

namespace kvasir::seam {

// The seam between the roles for models that make vectors. Thread-safe.
class EmbedClient {
 public:
  // [sequences, dimensions], each of length 1; or why there are none.
  using Done = std::function<void(base::Result<std::vector<float>>)>;

  virtual ~EmbedClient() = default;

  // Queues the request. `done` is called once, on the worker's thread, unless this refuses: with `exhausted`
  // when the queue is full, with `unavailable` while stopping.
  virtual base::Status embed(wire::EmbedRequest request, Done done) = 0;
  virtual int dimensions() const = 0;
  // Running and waiting are requests; it has no blocks.
  virtual wire::WorkerReport report() const = 0;
};

}  // namespace kvasir::seam
