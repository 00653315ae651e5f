#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "kv/block_image.h"
#include "router/dice.h"
#include "router/sent_prefills.h"
#include "seam/embed_client.h"
#include "seam/worker_client.h"
#include "wire/worker_card.h"

namespace kvasir::router {

// The id of the member that set_ready brings: a worker in the same process.
inline constexpr const char* kLocalMember = "local";

// A member's part, as its card says it, in prompts that one member computes and another answers.
struct MemberPart {
  std::string role = wire::kAnyRole;
  std::string address = {};  // at which other members reach it
  kv::BlockForm kv = {};     // the form in which its KV travels; without a name: it does not travel
};

// One worker of a model's pool. Shared by the router and the leases on it, which keep it alive. Thread-safe.
template <class Client>
class Member {
 public:
  Member(std::string id_in, std::shared_ptr<Client> worker_in, MemberPart part = {})
      : id(std::move(id_in)),
        role(std::move(part.role)),
        address(std::move(part.address)),
        kv(std::move(part.kv)),
        worker(std::move(worker_in)) {}

  const std::string id;
  const std::string role;
  const std::string address;
  const kv::BlockForm kv;
  SentPrefills sent_prefills;
  const std::uint64_t id_hash = hash_of(id);  // the same in every process
  const std::shared_ptr<Client> worker;       // never null

  void begin_lease() {
    ++num_leases_;
    ++num_sent_;
  }
  void end_lease() { --num_leases_; }
  int num_leases() const { return num_leases_; }
  // Whether a part of the worker's reports is another one than at the last call. It may miss one that has
  // come to lie where the last one was.
  bool is_new(const void* part) { return seen_.exchange(part, std::memory_order_relaxed) != part; }

  // Requests on the member: those that it reports, and those sent from here since its report last changed.
  int load(const wire::WorkerReport& report) {
    const int reported = report.num_running + report.num_waiting;
    if (reported_.exchange(reported, std::memory_order_relaxed) != reported) num_sent_ = 0;
    const int leases = num_leases_;
    return std::max(reported + std::min<int>(num_sent_, leases), leases);
  }

 private:
  std::atomic<int> num_leases_{0};
  std::atomic<int> num_sent_{0};
  std::atomic<int> reported_{0};
  std::atomic<const void*> seen_{nullptr};
};

using WorkerMember = Member<seam::WorkerClient>;
using EmbedMember = Member<seam::EmbedClient>;

}  // namespace kvasir::router
