#pragma once

#include <memory>
#include <utility>

#include "remote/remote_worker.h"
#include "seam/embed_client.h"

namespace kvasir::remote {

// The view of a remote worker as one that makes vectors. Thread-safe.
class RemoteEmbedder final : public seam::EmbedClient {
 public:
  RemoteEmbedder(std::shared_ptr<RemoteWorker> worker, int dimensions)
      : worker_(std::move(worker)), dimensions_(dimensions) {}

  base::Status embed(wire::EmbedRequest request, Done done) override {
    return worker_->embed(std::move(request), std::move(done));
  }
  int dimensions() const override { return dimensions_; }
  wire::WorkerReport report() const override { return worker_->report(); }

 private:
  const std::shared_ptr<RemoteWorker> worker_;
  const int dimensions_;
};

}  // namespace kvasir::remote
