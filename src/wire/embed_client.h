#pragma once

#include <functional>
#include <stop_token>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "wire/worker_client.h"

namespace kvasir::wire {

// Texts that are to become vectors. Whatever tokens the model wants around a text are there.
struct EmbedRequest {
  std::vector<std::vector<TokenId>> sequences;  // none is empty, none longer than the model reads
  std::stop_token stop;                         // requested: nobody wants the result any more
};

// The seam between the roles for models that make vectors. Thread-safe.
class EmbedClient {
 public:
  // [sequences, dimensions], each of length 1; or why there are none.
  using Done = std::function<void(base::Result<std::vector<float>>)>;

  virtual ~EmbedClient() = default;

  // Queues the request. `done` is called once, on the worker's thread, unless this refuses: with `exhausted`
  // when the queue is full, with `unavailable` while stopping.
  virtual base::Status embed(EmbedRequest request, Done done) = 0;
  virtual int dimensions() const = 0;
  // Running and waiting are requests; it has no blocks.
  virtual WorkerReport report() const = 0;
};

}  // namespace kvasir::wire
