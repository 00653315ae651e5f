#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "router/use.h"
#include "seam/embed_client.h"
#include "seam/worker_client.h"

namespace kvasir::router {

// A request's hold on a worker. It counts as load until it dies. A move-only value.
template <class Client>
class Lease {
 public:
  Lease(std::shared_ptr<std::atomic<int>> num_leases, std::shared_ptr<Client> worker, Use use)
      : use_(std::move(use)), num_leases_(std::move(num_leases)), worker_(std::move(worker)) {
    ++*num_leases_;
  }
  Lease(Lease&&) noexcept = default;
  Lease& operator=(Lease&&) = delete;
  ~Lease() {
    if (num_leases_) --*num_leases_;
  }

  Client& worker() const { return *worker_; }

 private:
  Use use_;                                       // ends last
  std::shared_ptr<std::atomic<int>> num_leases_;  // of the model; null once moved from
  std::shared_ptr<Client> worker_;
};

using WorkerLease = Lease<seam::WorkerClient>;
using EmbedLease = Lease<seam::EmbedClient>;

}  // namespace kvasir::router
