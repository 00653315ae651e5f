#pragma once

#include <algorithm>
#include <mutex>
#include <span>
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

  // How many of the first hashes are there. O(log n).
  int num_published(std::span<const BlockHash> hashes) const {
    const std::lock_guard lock(mutex_);
    const auto end = std::partition_point(hashes.begin(), hashes.end(),
                                          [&](const BlockHash& hash) { return hashes_.contains(hash); });
    return static_cast<int>(end - hashes.begin());
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_set<BlockHash, BlockHashHasher> hashes_;  // guarded by mutex_
};

}  // namespace kvasir::kv
