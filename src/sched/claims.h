#pragma once

#include <unordered_map>

#include "sched/planner.h"

namespace kvasir::sched {

// Decides which running sequence has to give up its place for a waiting one. Belongs to one plan, and counts
// the sequences that the plan has admitted and preempted so far.
class Claims {
 public:
  explicit Claims(const SchedulerState& state) : state_(state) {}

  void count_admitted(const Sequence& sequence) { count(sequence, 1); }
  void count_preempted(const Sequence& sequence) { count(sequence, -1); }

  // Whether `running` must give up its place for `waiting`. A lower class gives way while it has more places
  // than are reserved for it. Within a class, a tenant gives way to a tenant that was not charged more and
  // that has fewer places for its weight, even with this one more; it keeps its last place. Within a tenant,
  // a request gives way to a request with fewer places, counted in the same way. Every claim makes the places
  // more even, so two sequences never displace each other in turn.
  bool must_yield(const Sequence& running, const Sequence& waiting) const;

  // False if no running sequence must yield to `waiting`. Quicker than asking `must_yield` about each of
  // them.
  bool may_displace(const Sequence& waiting);

  // The number of empty places that are kept for classes below that of `sequence`.
  int num_kept_from(const Sequence& sequence) const;

 private:
  // The most places that one tenant has for its weight, and that one request has, among tenants with more
  // than one place.
  struct Most {
    double of_tenant = 0;
    int of_request = 0;
  };
  const Most& most_in_class(int priority);

  void count(const Sequence& sequence, int change);
  // The number of places that are reserved for each lower class.
  int num_reserved() const;
  int num_in_class(int priority) const;
  int num_in_tenant(const Account* account) const;
  int num_in_request(const RequestShare* request) const;

  const SchedulerState& state_;
  std::unordered_map<int, Most> most_;  // by priority; filled on demand, cleared by every change
  std::unordered_map<int, int> class_changes_;
  std::unordered_map<const Account*, int> tenant_changes_;
  std::unordered_map<const RequestShare*, int> request_changes_;
};

}  // namespace kvasir::sched
