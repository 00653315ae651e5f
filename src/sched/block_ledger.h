#pragma once

#include <cstddef>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "kv/block_pool.h"
#include "kv/eviction_order.h"

namespace kvasir::sched {

// Chooses the blocks that a plan will take. It does not change the pool.
class BlockLedger {
 public:
  explicit BlockLedger(const kv::BlockPool& pool)
      : pool_(pool), order_(pool), num_available_(pool.num_available()) {}

  int num_available() const { return num_available_; }
  // True if the block is in use anyway (by a sequence or by this plan), so that sharing it costs nothing.
  bool in_use(kv::BlockId id) const { return reserved_.contains(id) || num_owners(id) > 0; }
  // Keeps this plan from taking a published block.
  void reserve(kv::BlockId id);
  // Makes those blocks of a preempted sequence available that no other sequence uses, the last one first.
  void release(std::span<const kv::BlockId> blocks);
  // Takes an available block. CHECKs that there is one.
  kv::BlockId take();

 private:
  // The number of sequences that use the block, without those that the plan preempts.
  int num_owners(kv::BlockId id) const;

  const kv::BlockPool& pool_;
  kv::EvictionOrder order_;
  int num_available_;
  std::unordered_set<kv::BlockId> reserved_;
  std::unordered_map<kv::BlockId, int> num_releases_;
  std::vector<kv::BlockId> released_;
  std::size_t next_released_ = 0;
};

}  // namespace kvasir::sched
