#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_set>

#include "kv/block_hash.h"

namespace kvasir::kv {

// The hashes of the full blocks in a prefix tree, for threads other than the one that owns the tree.
// Thread-safe.
class PublishedBlocks {
 public:
  void add(const BlockHash& hash) {
    const std::lock_guard lock(mutex_);
    hashes_.insert(hash);
  }
  void remove(const BlockHash& hash) {
    const std::lock_guard lock(mutex_);
    hashes_.erase(hash);
  }

  // How many of the chain's first blocks are there. O(log n).
  int num_published(const BlockChain& chain) const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(
        num_first(chain, SIZE_MAX, [this](const BlockHash& hash) { return hashes_.contains(hash); }));
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_set<BlockHash, BlockHashHasher> hashes_;  // guarded by mutex_
};

}  // namespace kvasir::kv
