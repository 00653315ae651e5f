#pragma once

#include <unordered_map>

#include "sched/planner.h"

namespace kvasir::sched {

// Decides which running sequence has to give up its place for a waiting one. Counts what the plan has decided
// so far.
class Claims {
 public:
  explicit Claims(const SchedulerState& state) : state_(state) {}

  void count_admitted(const Sequence& sequence) { count(sequence, 1); }
  void count_preempted(const Sequence& sequence) { count(sequence, -1); }

  // A lower class gives way while it has more places than are reserved for it. Within a class, a tenant gives
  // way to one that was charged less and that would not have more places for its weight afterwards. Within a
  // tenant, a request gives way to one with fewer places. Every claim makes the places more even, so two
  // sequences never displace each other in turn. A tenant keeps its last place.
  bool must_yield(const Sequence& running, const Sequence& waiting) const;

  // False: no running sequence must yield to it. Quick, where `must_yield` would be asked of each.
  bool may_displace(const Sequence& waiting);

  // Empty places that are kept for classes below the one of `sequence`.
  int num_kept_from(const Sequence& sequence) const;

 private:
  // The most places of one tenant for its weight, and of one request, among the tenants with several.
  struct Most {
    double of_tenant = 0;
    int of_request = 0;
  };
  const Most& most_in_class(int priority);

  void count(const Sequence& sequence, int change);
  // Places that each lower class keeps.
  int num_reserved() const;
  int num_in_class(int priority) const;
  int num_in_tenant(const Account* account) const;
  int num_in_request(const RequestShare* request) const;

  const SchedulerState& state_;
  std::unordered_map<int, Most> most_;  // by class, as far as was asked since the last change
  std::unordered_map<int, int> class_changes_;
  std::unordered_map<const Account*, int> tenant_changes_;
  std::unordered_map<const RequestShare*, int> request_changes_;
};

}  // namespace kvasir::sched
