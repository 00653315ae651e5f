#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <vector>

#include "kv/block_hash.h"

namespace kvasir::router {

// Which members of a pool hold which blocks, as far as they have reported. A sharded hash table: an entry is
// 8 bytes of a block's hash and a bit for each member. If two blocks share those 8 bytes, a member seems to
// hold a block that it lacks, which costs a request time and nothing else. Its memory is bounded: at the
// bound it keeps only every second block, then every fourth, and so on, chosen by their hashes, so that all
// members and chains lose the same precision (see `resolution`). Thread-safe. Readers wait only while a
// shard's table is swapped.
class BlockIndex {
 public:
  static constexpr int kMostMembers = 64;
  static constexpr std::size_t kDefaultBytes = std::size_t{128} << 20;

  // `most_bytes` bounds the tables. A shard that grows holds its old and its new table for a moment.
  explicit BlockIndex(std::size_t most_bytes = kDefaultBytes);
  ~BlockIndex();
  BlockIndex(const BlockIndex&) = delete;
  BlockIndex& operator=(const BlockIndex&) = delete;

  // Gives a member its number. Absent: all numbers are taken.
  std::optional<int> join();
  // Removes the member's blocks and frees its number.
  void leave(int member);

  void add(int member, std::span<const kv::BlockHash> blocks);
  void remove(int member, std::span<const kv::BlockHash> blocks);
  // Makes these the member's only blocks.
  void replace(int member, std::span<const kv::BlockHash> blocks);

  // How many of a chain's first blocks each member holds.
  using Depths = std::array<int, kMostMembers>;
  // One binary search finds the depths of all members, exactly for those that hold most. After kMostProbes
  // lookups the other depths are those proven so far, which are too small.
  Depths find(const kv::BlockChain& chain) const;
  static constexpr int kMostProbes = 96;

  // One in this many blocks is kept, so depths are exact to about this many blocks.
  int resolution() const { return resolution_.load(std::memory_order_relaxed); }
  // Counts the blocks that at least one member holds.
  std::size_t num_blocks() const;
  std::size_t num_bytes() const;

 private:
  static constexpr std::size_t kNumShards = 16;
  class Table;
  struct Shard {
    std::mutex writing;                  // held by the shard's only writer
    mutable std::shared_mutex swapping;  // guards the pointer
    std::unique_ptr<Table> table;        // written with both, read with either
  };

  class Search;

  static bool keeps(std::uint64_t key, int resolution);
  Shard& shard_of(std::uint64_t key) const;
  // A bit for each member that holds the block.
  std::uint64_t holders(const kv::BlockHash& block) const;
  // Calls `act` once for each shard, with the keys of the kept blocks that belong to it.
  template <class Do>
  void by_shard(std::span<const kv::BlockHash> blocks, const Do& act);
  void add_to(Shard& shard, int member, std::span<const std::uint64_t> keys,
              const std::lock_guard<std::mutex>& writing);
  // Replaces the table with a larger one, one that keeps fewer blocks, or one without the keys that nobody
  // holds.
  void make_room(Shard& shard, const std::lock_guard<std::mutex>& writing);

  const std::size_t most_slots_;  // most slots of one shard
  mutable std::array<Shard, kNumShards> shards_;
  std::atomic<int> resolution_{1};
  std::atomic<std::uint64_t> taken_{0};  // a bit for each member that has joined
};

}  // namespace kvasir::router
