#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "kv/block_hash.h"

namespace kvasir::kv {

// The hashes of the full blocks in a prefix tree, for threads other than the tree's owner. One of them may
// follow the changes. Thread-safe.
class PublishedBlocks {
 public:
  struct Changes {
    std::vector<BlockHash> added;
    std::vector<BlockHash> removed;
  };

  void add(const BlockHash& hash) {
    const std::lock_guard lock(mutex_);
    hashes_.insert(hash);
    if (follows_) touched_.push_back(hash);
  }
  void remove(const BlockHash& hash) {
    const std::lock_guard lock(mutex_);
    hashes_.erase(hash);
    if (follows_) touched_.push_back(hash);
  }

  // Returns how many of the chain's first blocks are published. O(log n).
  int num_published(const BlockChain& chain) const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(
        num_first(chain, SIZE_MAX, [this](const BlockHash& hash) { return hashes_.contains(hash); }));
  }

  // Returns all hashes. From now on, changes are kept for take_changes(), until stop_following().
  std::vector<BlockHash> follow() {
    const std::lock_guard lock(mutex_);
    follows_ = true;
    touched_.clear();
    return {hashes_.begin(), hashes_.end()};
  }
  void stop_following() {
    const std::lock_guard lock(mutex_);
    follows_ = false;
    touched_ = {};
  }
  // Returns the changes since the last call. No hash is in both lists: a hash that changed several times is
  // listed by its present state.
  Changes take_changes() {
    Changes changes;
    const std::lock_guard lock(mutex_);
    for (const BlockHash& hash : touched_)
      (hashes_.contains(hash) ? changes.added : changes.removed).push_back(hash);
    touched_.clear();
    return changes;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_set<BlockHash, BlockHashHasher> hashes_;  // guarded by mutex_
  std::vector<BlockHash> touched_;                         // guarded by mutex_; empty unless followed
  bool follows_ = false;                                   // guarded by mutex_
};

}  // namespace kvasir::kv
