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

// Which members of a pool hold which blocks, as far as they have told. A hash table in shards: a block is 8
// bytes of its hash and a bit for each member. Two blocks may share those 8 bytes: then a member seems to
// hold a block that it has not, which costs a request time and nothing else. Its memory is bounded. At the
// bound it keeps every second block alone, then every fourth, and so on, chosen by their hashes, so that all
// members and chains lose the same precision; see `resolution`. Thread-safe. Readers wait for nobody but the
// swap of a shard's table.
class BlockIndex {
 public:
  static constexpr int kMostMembers = 64;
  static constexpr std::size_t kDefaultBytes = std::size_t{128} << 20;

  // A shard that grows has its old table beside the new one for a moment.
  explicit BlockIndex(std::size_t most_bytes = kDefaultBytes);
  ~BlockIndex();
  BlockIndex(const BlockIndex&) = delete;
  BlockIndex& operator=(const BlockIndex&) = delete;

  // A number for a member. Absent: all are taken.
  std::optional<int> join();
  // The member's blocks go, and its number is free again.
  void leave(int member);

  void add(int member, std::span<const kv::BlockHash> blocks);
  void remove(int member, std::span<const kv::BlockHash> blocks);
  // The member has these blocks and no others.
  void replace(int member, std::span<const kv::BlockHash> blocks);

  // How many of a chain's first blocks each member holds.
  using Depths = std::array<int, kMostMembers>;
  // Exact for the members that hold most, by binary search for all of them at once. What is not known after
  // kMostProbes lookups counts as far as it is known, which is too little.
  Depths find(const kv::BlockChain& chain) const;
  static constexpr int kMostProbes = 96;

  // One of so many blocks is kept; so far apart are the depths that it can tell.
  int resolution() const { return resolution_.load(std::memory_order_relaxed); }
  // Blocks that some member holds.
  std::size_t num_blocks() const;
  std::size_t num_bytes() const;

 private:
  static constexpr std::size_t kNumShards = 16;
  class Table;
  struct Shard {
    std::mutex writing;                  // one writer at a time
    mutable std::shared_mutex swapping;  // guards the pointer
    std::unique_ptr<Table> table;        // written with both, read with either
  };

  class Search;

  static bool keeps(std::uint64_t key, int resolution);
  Shard& shard_of(std::uint64_t key) const;
  // Bits of the members that hold the block.
  std::uint64_t holders(const kv::BlockHash& block) const;
  // Calls `act` with each shard and the keys of those blocks that are its own and are kept.
  template <class Do>
  void by_shard(std::span<const kv::BlockHash> blocks, const Do& act);
  void add_to(Shard& shard, int member, std::span<const std::uint64_t> keys,
              const std::lock_guard<std::mutex>& writing);
  // A larger table, or one of a lower resolution, or one without the keys that nobody holds.
  void make_room(Shard& shard, const std::lock_guard<std::mutex>& writing);

  const std::size_t most_slots_;  // of a shard
  mutable std::array<Shard, kNumShards> shards_;
  std::atomic<int> resolution_{1};
  std::atomic<std::uint64_t> taken_{0};  // bits of the members that have joined
};

}  // namespace kvasir::router
