#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "router/demand.h"
#include "router/lease.h"
#include "router/member.h"

namespace kvasir::router {

// A member's state, for those who list models.
struct MemberStatus {
  std::string id;
  int num_leases = 0;  // of this process
  wire::WorkerReport report;
};

// What all workers of a pool have and do together. It makes progress if one of them does, and has failed if
// all have.
wire::WorkerReport sum_of(const std::vector<MemberStatus>& members);

// A model without any worker for a request.
base::Error no_worker(const std::string& model);

// The workers that generate for one model. Thread-safe.
class Pool {
 public:
  explicit Pool(std::string model) : model_(std::move(model)) {}

  // Takes the place of a member with the same id.
  void add(std::string id, std::shared_ptr<seam::WorkerClient> worker);
  // Leases on it keep it alive. Does nothing if it is not there.
  void remove(std::string_view id);
  using Members = std::shared_ptr<const std::vector<std::shared_ptr<WorkerMember>>>;
  // Those who are there now.
  Members members() const;

  // One of `among`. unavailable: the demand avoids all of them.
  base::Result<WorkerLease> pick(const Members& among, const Demand& demand, Use use) const;

  // In the order in which they were added.
  std::vector<MemberStatus> status() const;

 private:
  using List = std::vector<std::shared_ptr<WorkerMember>>;

  const std::string model_;
  mutable std::mutex mutex_;
  Members members_ = std::make_shared<List>();  // guarded by mutex_; never null
};

}  // namespace kvasir::router
