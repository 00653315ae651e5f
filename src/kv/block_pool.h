#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "kv/block.h"

namespace kvasir::kv {

class BlockPool;

// A block that one sequence fills. The value owns the block: destroying it returns the block to the pool.
class WritableBlock {
 public:
  WritableBlock(WritableBlock&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)), id_(std::exchange(other.id_, kNoBlock)) {}
  WritableBlock& operator=(WritableBlock&& other) noexcept;
  WritableBlock(const WritableBlock&) = delete;
  WritableBlock& operator=(const WritableBlock&) = delete;
  ~WritableBlock();

  BlockId id() const { return id_; }

 private:
  friend class BlockPool;
  WritableBlock(BlockPool* pool, BlockId id) : pool_(pool), id_(id) {}

  BlockPool* pool_;
  BlockId id_;
};

// A share in a published block, whose content never changes again. When the last share dies, the block stays
// cached and becomes the last candidate for eviction.
class BlockRef {
 public:
  BlockRef(const BlockRef& other);
  BlockRef(BlockRef&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)), id_(std::exchange(other.id_, kNoBlock)) {}
  BlockRef& operator=(BlockRef other) noexcept;
  ~BlockRef();

  BlockId id() const { return id_; }

 private:
  friend class BlockPool;
  BlockRef(BlockPool* pool, BlockId id) : pool_(pool), id_(id) {}

  BlockPool* pool_;
  BlockId id_;
};

// A fixed number of blocks. Each is in exactly one state: free, writable (one WritableBlock), shared
// (published, with one or more BlockRefs), or cached (published, without BlockRefs, in a list of its owner's
// cached blocks, the least recently used first). Owned and touched by one engine thread. Must outlive every
// value that it gave out.
class BlockPool {
 public:
  explicit BlockPool(int num_blocks);
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;
  ~BlockPool();

  int num_blocks() const { return static_cast<int>(slots_.size()); }
  int num_free() const { return free_.size; }
  int num_cached() const { return num_cached_; }
  int num_available() const { return free_.size + num_cached_; }

  // Adds an owner of published blocks. Blocks of one owner share prefixes only with each other. kPublicOwner
  // always exists.
  OwnerId add_owner();
  // Sets the owner's share of the cache, relative to other owners. At least 1.
  void set_weight(OwnerId owner, int weight) { owners_[owner].weight = weight; }
  // Removes an owner that has no published blocks any more.
  void remove_owner(OwnerId owner);
  // Sets the time that counts as now for an owner's last use. It never goes back.
  void set_now(double now_s) { now_s_ = now_s; }

  // Makes a free block writable.
  WritableBlock take(BlockId id);
  // Freezes the block's content. Only PrefixTree calls this, since only it can find the block again.
  BlockRef publish(WritableBlock block, OwnerId owner);
  // Returns another share in a published block.
  BlockRef share(BlockId id);
  // Forgets a cached block's content. The block is free afterwards.
  void evict(BlockId id);

  bool is_free(BlockId id) const { return slots_[id].state == State::free; }
  bool is_cached(BlockId id) const { return slots_[id].state == State::cached; }
  // The number of the block's BlockRefs, or 1 if it has a WritableBlock.
  int num_refs(BlockId id) const { return slots_[id].num_refs; }

 private:
  friend class WritableBlock;
  friend class BlockRef;
  friend class EvictionOrder;

  enum class State : std::uint8_t { free, writable, shared, cached };
  struct Slot {
    State state = State::free;
    int num_refs = 0;
    OwnerId owner = 0;  // while it is published
    BlockId prev = kNoBlock;
    BlockId next = kNoBlock;
  };
  struct List {
    BlockId head = kNoBlock;
    BlockId tail = kNoBlock;
    int size = 0;
  };
  struct Owner {
    List cached;
    int weight = 1;
    double last_used_s = 0;
  };

  void push_back(List& list, BlockId id);
  void remove(List& list, BlockId id);
  void add_ref(BlockId id);
  void drop_ref(BlockId id);
  void drop_writable(BlockId id);

  std::vector<Slot> slots_;
  List free_;
  int num_cached_ = 0;
  std::vector<Owner> owners_{1};
  std::vector<OwnerId> unused_owners_;
  double now_s_ = 0;
};

}  // namespace kvasir::kv
