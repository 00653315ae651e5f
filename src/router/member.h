#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "seam/embed_client.h"
#include "seam/worker_client.h"

namespace kvasir::router {

// The id of the member that set_ready brings: a worker in the same process.
inline constexpr const char* kLocalMember = "local";

// One worker of a model's pool. Shared by the router and the leases on it, which keep it alive.
template <class Client>
struct Member {
  Member(std::string id_in, std::shared_ptr<Client> worker_in)
      : id(std::move(id_in)), worker(std::move(worker_in)) {}

  const std::string id;
  const std::shared_ptr<Client> worker;  // never null
  std::atomic<int> num_leases{0};
};

using WorkerMember = Member<seam::WorkerClient>;
using EmbedMember = Member<seam::EmbedClient>;

}  // namespace kvasir::router
