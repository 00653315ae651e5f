#pragma once

#include <functional>
#include <vector>

#include "fleet/worker_list.h"

namespace kvasir::fleet {

// The list of the fleet's members, which a file or etcd keeps. A listed member may be out of reach, and one
// that is not listed any more may still answer: only connections show that.
class Membership {
 public:
  // Gets all members, sorted by id, once at the start (if they are known then) and whenever they have
  // changed. Called on the membership's own thread.
  using OnMembers = std::function<void(const std::vector<WorkerPlace>& members)>;

  // OnMembers is not called any more once this has returned. It may take a second.
  virtual ~Membership() = default;
};

// The changes from one list of members to the next. A member whose address has changed is in both lists.
struct MemberChanges {
  std::vector<WorkerPlace> left;
  std::vector<WorkerPlace> joined;
  bool empty() const { return left.empty() && joined.empty(); }
};
MemberChanges changes(const std::vector<WorkerPlace>& before, const std::vector<WorkerPlace>& now);

}  // namespace kvasir::fleet
