#include "sched/block_ledger.h"

#include <ranges>

#include "base/check.h"

namespace kvasir::sched {

void BlockLedger::reserve(kv::BlockId id) {
  if (reserved_.insert(id).second && pool_.is_cached(id)) --num_available_;
}

void BlockLedger::release(std::span<const kv::BlockId> blocks) {
  for (const kv::BlockId id : std::views::reverse(blocks)) {
    if (++num_releases_[id] < pool_.num_refs(id) || reserved_.contains(id)) continue;
    released_.push_back(id);
    ++num_available_;
  }
}

kv::BlockId BlockLedger::take() {
  CHECK(num_available_ > 0, "no block is available");
  --num_available_;
  while (cursor_ != kv::kNoBlock) {
    const kv::BlockId id = cursor_;
    cursor_ = pool_.next_available(id);
    if (!reserved_.contains(id)) return id;
  }
  CHECK(next_released_ < released_.size(), "the ledger lost count");
  return released_[next_released_++];
}

}  // namespace kvasir::sched
