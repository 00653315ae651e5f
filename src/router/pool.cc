#include "router/pool.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace kvasir::router {

base::Error no_worker(const std::string& model) {
  return {.code = base::ErrorCode::unavailable,
          .message = fmt::format("no worker of '{}' is there for the request; try again", model),
          .field = "model",
          .reason = "no_worker",
          .retry_after_s = 2};
}

wire::WorkerReport sum_of(const std::vector<MemberStatus>& members) {
  if (members.size() == 1) return members[0].report;
  wire::WorkerReport sum{.progressing = members.empty(), .failed = !members.empty()};
  for (const MemberStatus& member : members) {
    const wire::WorkerReport& one = member.report;
    sum.num_blocks += one.num_blocks;
    sum.num_free_blocks += one.num_free_blocks;
    sum.num_cached_blocks += one.num_cached_blocks;
    sum.num_running += one.num_running;
    sum.num_waiting += one.num_waiting;
    for (const auto& [priority, num] : one.waiting) sum.waiting[priority] += num;
    sum.progressing = sum.progressing || one.progressing;
    sum.failed = sum.failed && one.failed;
    sum.heartbeat_age_s = std::max(sum.heartbeat_age_s, one.heartbeat_age_s);
  }
  return sum;
}

void Pool::add(std::string id, std::shared_ptr<seam::WorkerClient> worker) {
  CHECK(worker != nullptr, "member {} without a worker", id);
  const std::lock_guard lock(mutex_);
  List members = *members_;
  std::erase_if(members, [&id](const auto& member) { return member->id == id; });
  members.push_back(std::make_shared<WorkerMember>(std::move(id), std::move(worker)));
  members_ = std::make_shared<const List>(std::move(members));
}

void Pool::remove(std::string_view id) {
  const std::lock_guard lock(mutex_);
  List members = *members_;
  std::erase_if(members, [id](const auto& member) { return member->id == id; });
  members_ = std::make_shared<const List>(std::move(members));
}

Pool::Members Pool::members() const {
  const std::lock_guard lock(mutex_);
  return members_;
}

base::Result<WorkerLease> Pool::pick(const Members& among, const Demand& demand, Use use) const {
  std::shared_ptr<WorkerMember> best;
  for (const auto& member : *among) {
    if (std::ranges::find(demand.avoid, member->id) != demand.avoid.end()) continue;
    if (!best || member->num_leases < best->num_leases) best = member;
  }
  if (!best) return no_worker(model_);
  return WorkerLease(std::move(best), std::move(use));
}

std::vector<MemberStatus> Pool::status() const {
  std::vector<MemberStatus> all;
  // Workers have locks of their own, so they are called without the pool's lock.
  for (const auto& member : *members())
    all.push_back({.id = member->id, .num_leases = member->num_leases, .report = member->worker->report()});
  return all;
}

}  // namespace kvasir::router
