#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "router/block_follower.h"
#include "router/block_index.h"
#include "router/changing_roles.h"
#include "router/demand.h"
#include "router/lease.h"
#include "router/member.h"
#include "router/policy.h"
#include "router/prefill_choice.h"
#include "router/prefill_trials.h"

namespace kvasir::router {

struct PoolOptions {
  std::string policy = "cache";
  PrefillRule prefill = PrefillRule::forecast;
  double roles_window_s = 30;                           // see ChangingRoles
  std::size_t index_bytes = BlockIndex::kDefaultBytes;  // for each model
  std::uint64_t seed = 1;                               // for random decisions
};

// A member's state, for lists of models.
struct MemberStatus {
  std::string id;
  bool is_prefill = false;  // it computes prompts for others now
  int num_leases = 0;       // from this process
  wire::WorkerReport report;
  std::uint64_t num_prefill_ejections = 0;  // see PrefillTrials
};

// The sum of a pool's reports. The pool makes progress if one worker does, and has failed if all have.
wire::WorkerReport sum_of(const std::vector<MemberStatus>& members);

// The error if a model has no worker for a request.
base::Error no_worker(const std::string& model);

// The workers that generate for one model. The pool follows their blocks while it has at least two workers
// and a policy that needs the blocks. Thread-safe.
class Pool {
 public:
  // The clock outlives it.
  Pool(std::string model, const PoolOptions& options, const base::Clock& clock = real_clock());
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Replaces a member with the same id.
  void add(std::string id, std::shared_ptr<seam::WorkerClient> worker, MemberPart part = {});
  // Leases keep the member alive. Does nothing if no member has this id.
  void remove(std::string_view id);

  struct Seat {
    std::shared_ptr<WorkerMember> member;
    std::shared_ptr<BlockFollower> follower;  // null: its blocks are not known
    int rank = -1;  // among the members whose role changes, the same in every process; -1: its role is fixed
  };
  using Members = std::shared_ptr<const std::vector<Seat>>;
  // The present members.
  Members members() const;

  // Picks one of `among`. A member that has failed, makes no progress or only computes prompts for others is
  // picked only if there is no other. The route says whether another member computes the prompt. unavailable:
  // the demand avoids all of them.
  base::Result<WorkerLease> pick(const Members& among, const Demand& demand, Use use) const;

  // In the order in which they were added.
  std::vector<MemberStatus> status() const;
  const BlockIndex& index() const { return *index_; }

  static const base::Clock& real_clock();

 private:
  using List = std::vector<Seat>;
  struct Field;
  bool is_prefill(const Seat& seat) const;
  Field field_of(const Members& among, const Demand& demand) const;
  void send_prefill(const Field& field, const Demand& demand, const Candidate& decoder, Route& route) const;
  void take_out(std::string_view id, List& members, const std::lock_guard<std::mutex>& lock);
  // Begins or ends following the members' blocks, and makes `members` the pool's members.
  void settle(List members, const std::lock_guard<std::mutex>& lock);

  const std::string model_;
  const PoolOptions options_;
  const base::Clock& clock_;
  const std::unique_ptr<Policy> policy_;
  const std::shared_ptr<BlockIndex> index_;
  mutable PrefillTrials trials_;
  mutable ChangingRoles roles_;
  mutable std::mutex mutex_;
  Members members_ = std::make_shared<List>();  // guarded by mutex_; never null
};

}  // namespace kvasir::router
