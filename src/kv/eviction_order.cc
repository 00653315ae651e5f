#include "kv/eviction_order.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace kvasir::kv {

namespace {

// An owner's blocks count twice as much for every so many seconds without a request of its own.
constexpr double kFade_s = 300;
constexpr double kMostFades = 64;

}  // namespace

EvictionOrder::EvictionOrder(const BlockPool& pool) : pool_(pool), free_(pool.free_.head) {}

BlockId EvictionOrder::next() {
  if (free_ != kNoBlock) return std::exchange(free_, pool_.slots_[free_].next);
  if (!is_ranked_) rank_owners();
  if (owners_.empty()) return kNoBlock;
  std::ranges::pop_heap(owners_, {}, &Turn::claim);
  Turn& turn = owners_.back();
  const BlockId id = turn.head;
  turn.head = pool_.slots_[id].next;
  turn.claim -= turn.factor;
  if (turn.head == kNoBlock)
    owners_.pop_back();
  else
    std::ranges::push_heap(owners_, {}, &Turn::claim);
  return id;
}

void EvictionOrder::rank_owners() {
  is_ranked_ = true;
  for (const BlockPool::Owner& owner : pool_.owners_) {
    if (owner.cached.size == 0) continue;
    const double factor = std::exp2(std::min(kMostFades, (pool_.now_s_ - owner.last_used_s) / kFade_s));
    owners_.push_back({owner.cached.size * factor, factor, owner.cached.head});
  }
  std::ranges::make_heap(owners_, {}, &Turn::claim);
}

}  // namespace kvasir::kv
