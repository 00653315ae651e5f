#include "sched/block_ledger.h"

#include <ranges>

#include "base/check.h"

namespace kvasir::sched {

void BlockLedger::reserve(kv::BlockId id) {
  if (reserved_.insert(id).second && num_owners(id) == 0) --num_available_;
}

void BlockLedger::release(std::span<const kv::BlockId> blocks) {
  for (const kv::BlockId id : std::views::reverse(blocks)) {
    ++num_releases_[id];
    if (in_use(id)) continue;
    released_.push_back(id);
    ++num_available_;
  }
}

kv::BlockId BlockLedger::take() {
  CHECK(num_available_ > 0, "no block is available");
  --num_available_;
  for (kv::BlockId id = order_.next(); id != kv::kNoBlock; id = order_.next())
    if (!reserved_.contains(id)) return id;
  while (next_released_ < released_.size()) {
    const kv::BlockId id = released_[next_released_++];
    if (!reserved_.contains(id)) return id;
  }
  CHECK(false, "the ledger lost count");
}

int BlockLedger::num_owners(kv::BlockId id) const {
  const auto released = num_releases_.find(id);
  return pool_.num_refs(id) - (released == num_releases_.end() ? 0 : released->second);
}

}  // namespace kvasir::sched
