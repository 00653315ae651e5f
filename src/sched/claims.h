#pragma once

#include <unordered_map>

#include "sched/planner.h"

namespace kvasir::sched {

// Who has to give its place to whom, with what a plan has decided so far counted in.
class Claims {
 public:
  explicit Claims(const SchedulerState& state) : state_(state) {}

  void count_admitted(const Sequence& sequence) { count(sequence, 1); }
  void count_preempted(const Sequence& sequence) { count(sequence, -1); }

  // A lower class gives way as long as it keeps the places that are reserved for it. In one class a tenant
  // gives way that would still have as many places for its weight as the other one, and in one tenant a
  // request. Every claim makes the places more even, so that two sequences never take turns in displacing each
  // other; the last sequence of a tenant stays.
  bool must_yield(const Sequence& running, const Sequence& waiting) const;

  // Places that are kept for classes below the one of `sequence`, of those that are empty.
  int num_kept_from(const Sequence& sequence) const;

 private:
  void count(const Sequence& sequence, int change);
  // Places of each class, whatever higher ones want.
  int num_reserved() const;
  int num_in_class(int priority) const;
  int num_in_tenant(const Account* account) const;
  int num_in_request(const RequestShare* request) const;

  const SchedulerState& state_;
  std::unordered_map<int, int> class_changes_;
  std::unordered_map<const Account*, int> tenant_changes_;
  std::unordered_map<const RequestShare*, int> request_changes_;
};

}  // namespace kvasir::sched
