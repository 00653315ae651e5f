#include "kv/eviction_order.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace kvasir::kv {

namespace {

// An owner's blocks count twice as much for every kFade_s seconds without a request of its own.
constexpr double kFade_s = 300;
constexpr double kMostFades = 64;

}  // namespace

EvictionOrder::EvictionOrder(const BlockPool& pool) : pool_(pool), free_(pool.free_.head) {}

BlockId EvictionOrder::next() {
  if (free_ != kNoBlock) return std::exchange(free_, pool_.slots_[free_].next);
  if (!is_ranked_) rank_owners();
  if (public_.head != kNoBlock && (owners_.empty() || public_.claim > num_owned_)) return take_from(public_);
  if (owners_.empty()) return kNoBlock;
  std::ranges::pop_heap(owners_, {}, &Turn::claim);
  const BlockId id = take_from(owners_.back());
  --num_owned_;
  if (owners_.back().head == kNoBlock)
    owners_.pop_back();
  else
    std::ranges::push_heap(owners_, {}, &Turn::claim);
  return id;
}

BlockId EvictionOrder::take_from(Turn& turn) const {
  turn.claim -= turn.factor;
  return std::exchange(turn.head, pool_.slots_[turn.head].next);
}

EvictionOrder::Turn EvictionOrder::turn_of(OwnerId id) const {
  const BlockPool::Owner& owner = pool_.owners_[id];
  const double fades = std::min(kMostFades, (pool_.now_s_ - owner.last_used_s) / kFade_s);
  const double factor = std::exp2(fades) / owner.weight;
  return {owner.cached.size * factor, factor, owner.cached.head};
}

void EvictionOrder::rank_owners() {
  is_ranked_ = true;
  public_ = turn_of(kPublicOwner);
  num_owned_ = pool_.num_cached_ - pool_.owners_[kPublicOwner].cached.size;
  for (OwnerId id = kPublicOwner + 1; id < std::ssize(pool_.owners_); ++id)
    if (pool_.owners_[id].cached.size > 0) owners_.push_back(turn_of(id));
  std::ranges::make_heap(owners_, {}, &Turn::claim);
}

}  // namespace kvasir::kv
