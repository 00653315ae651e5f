#include "remote/kv_peers.h"

#include <algorithm>

namespace kvasir::remote {

void KvPeers::note(const std::string& address, Outcome outcome) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(links_, address, &wire::KvLink::address);
  if (found == links_.end())
    links_.push_front({.address = address});
  else
    links_.splice(links_.begin(), links_, found);
  if (links_.size() > kMost) links_.pop_back();
  wire::KvLink& link = links_.front();
  link.ended_well = outcome == Outcome::came;
  ++(link.ended_well ? link.num_good : link.num_failed);
  ++version_;
}

std::shared_ptr<const std::vector<wire::KvLink>> KvPeers::links() const {
  const std::lock_guard lock(mutex_);
  return std::make_shared<const std::vector<wire::KvLink>>(links_.begin(), links_.end());
}

std::uint64_t KvPeers::version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

}  // namespace kvasir::remote
