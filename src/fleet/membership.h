#pragma once

#include <functional>
#include <vector>

#include "fleet/worker_list.h"

namespace kvasir::fleet {

// Who is in the fleet, as somebody keeps it: a file, or etcd. A member that is listed may still be out of
// reach, and one that is not listed any more may still answer: connections decide that.
class Membership {
 public:
  // Is told all members, sorted by id, once at the start (if they are known then) and whenever they have
  // changed. Called on the membership's own thread.
  using OnMembers = std::function<void(const std::vector<WorkerPlace>& members)>;

  // Tells nothing any more once it has returned. It may take a second.
  virtual ~Membership() = default;
};

// What it takes to get from one list of members to the next. A member whose address has changed has left and
// joined.
struct MemberChanges {
  std::vector<WorkerPlace> left;
  std::vector<WorkerPlace> joined;
  bool empty() const { return left.empty() && joined.empty(); }
};
MemberChanges changes(const std::vector<WorkerPlace>& before, const std::vector<WorkerPlace>& now);

}  // namespace kvasir::fleet
