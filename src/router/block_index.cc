#include "router/block_index.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace kvasir::router {

namespace {

constexpr std::size_t kLeastSlots = 256;
// Keys have 20 bits that choose what is kept. Hashes fill no table at this resolution; a worker that sends
// other numbers may fill it, and then nothing more is added.
constexpr int kCoarsest = 1 << 20;

// The low half of a hash; 0 stands for an empty slot.
std::uint64_t key_of(const kv::BlockHash& block) {
  return block.low == 0 ? 1 : block.low;
}

std::uint64_t bit_of(int member) {
  return std::uint64_t{1} << member;
}

}  // namespace

// Open addressing. Keys are never taken out, so that readers may search while a writer writes: a key without
// members stays until the table is rebuilt.
class BlockIndex::Table {
 public:
  struct Slot {
    std::atomic<std::uint64_t> key{0};
    std::atomic<std::uint64_t> members{0};
  };

  explicit Table(std::size_t num_slots, int resolution_in) : resolution(resolution_in), slots_(num_slots) {}

  std::uint64_t members_of(std::uint64_t key) const {
    for (std::size_t i = place(key);; i = next(i)) {
      const std::uint64_t found = slots_[i].key.load(std::memory_order_acquire);
      if (found == key) return slots_[i].members.load(std::memory_order_relaxed);
      if (found == 0) return 0;
    }
  }

  // Called by one writer at a time, with a free slot left.
  void add(std::uint64_t key, std::uint64_t members) {
    for (std::size_t i = place(key);; i = next(i)) {
      Slot& slot = slots_[i];
      const std::uint64_t found = slot.key.load(std::memory_order_relaxed);
      if (found != key && found != 0) continue;
      if (slot.members.fetch_or(members, std::memory_order_relaxed) == 0) ++num_live;
      if (found == key) return;
      ++num_keys;
      slot.key.store(key, std::memory_order_release);
      return;
    }
  }
  void remove(std::uint64_t key, std::uint64_t member) {
    for (std::size_t i = place(key);; i = next(i)) {
      const std::uint64_t found = slots_[i].key.load(std::memory_order_relaxed);
      if (found == key) return drop(slots_[i], member);
      if (found == 0) return;
    }
  }
  // Removes the member from all blocks for which `stays` is false.
  template <class Stays>
  void remove_all(std::uint64_t member, const Stays& stays) {
    for (Slot& slot : slots_)
      if ((slot.members.load(std::memory_order_relaxed) & member) != 0 &&
          !stays(slot.key.load(std::memory_order_relaxed)))
        drop(slot, member);
  }

  bool is_full() const { return (num_keys + 1) * 5 > slots_.size() * 4; }
  std::size_t num_slots() const { return slots_.size(); }
  std::span<const Slot> slots() const { return slots_; }

  const int resolution;  // the resolution that chose its keys
  std::size_t num_keys = 0;
  std::size_t num_live = 0;  // keys with members

 private:
  // The lowest bits choose the shard.
  std::size_t place(std::uint64_t key) const { return (key / kNumShards) & (slots_.size() - 1); }
  std::size_t next(std::size_t i) const { return (i + 1) & (slots_.size() - 1); }
  void drop(Slot& slot, std::uint64_t member) {
    const std::uint64_t before = slot.members.fetch_and(~member, std::memory_order_relaxed);
    if (before == member) --num_live;
  }

  std::vector<Slot> slots_;  // their number is a power of two
};

BlockIndex::BlockIndex(std::size_t most_bytes)
    : most_slots_(std::max(kLeastSlots, std::bit_floor(most_bytes / (kNumShards * sizeof(Table::Slot))))) {
  for (Shard& shard : shards_) shard.table = std::make_unique<Table>(kLeastSlots, 1);
}

BlockIndex::~BlockIndex() = default;

std::optional<int> BlockIndex::join() {
  std::uint64_t taken = taken_;
  for (;;) {
    if (~taken == 0) return std::nullopt;
    const int member = std::countr_one(taken);
    if (taken_.compare_exchange_weak(taken, taken | bit_of(member))) return member;
  }
}

void BlockIndex::leave(int member) {
  replace(member, {});
  taken_ &= ~bit_of(member);
}

// Uses bits of the key that choose neither the shard nor the slot.
bool BlockIndex::keeps(std::uint64_t key, int resolution) {
  return (key >> 44 & static_cast<std::uint64_t>(resolution - 1)) == 0;
}

BlockIndex::Shard& BlockIndex::shard_of(std::uint64_t key) const {
  return shards_[key % kNumShards];
}

std::uint64_t BlockIndex::holders(const kv::BlockHash& block) const {
  const std::uint64_t key = key_of(block);
  const Shard& shard = shard_of(key);
  const std::shared_lock reading(shard.swapping);
  return shard.table->members_of(key);
}

template <class Do>
void BlockIndex::by_shard(std::span<const kv::BlockHash> blocks, const Do& act) {
  const int kept = resolution();
  std::array<std::vector<std::uint64_t>, kNumShards> keys;
  for (const kv::BlockHash& block : blocks)
    if (const std::uint64_t key = key_of(block); keeps(key, kept)) keys[key % kNumShards].push_back(key);
  for (std::size_t i = 0; i < kNumShards; ++i) act(shards_[i], keys[i]);
}

void BlockIndex::add(int member, std::span<const kv::BlockHash> blocks) {
  by_shard(blocks, [&](Shard& shard, const std::vector<std::uint64_t>& keys) {
    if (keys.empty()) return;
    const std::lock_guard writing(shard.writing);
    add_to(shard, member, keys, writing);
  });
}

void BlockIndex::remove(int member, std::span<const kv::BlockHash> blocks) {
  by_shard(blocks, [&](Shard& shard, const std::vector<std::uint64_t>& keys) {
    if (keys.empty()) return;
    const std::lock_guard writing(shard.writing);
    for (const std::uint64_t key : keys) shard.table->remove(key, bit_of(member));
  });
}

void BlockIndex::replace(int member, std::span<const kv::BlockHash> blocks) {
  by_shard(blocks, [&](Shard& shard, std::vector<std::uint64_t>& keys) {
    std::ranges::sort(keys);
    const std::lock_guard writing(shard.writing);
    shard.table->remove_all(bit_of(member),
                            [&keys](std::uint64_t key) { return std::ranges::binary_search(keys, key); });
    add_to(shard, member, keys, writing);
  });
}

void BlockIndex::add_to(Shard& shard, int member, std::span<const std::uint64_t> keys,
                        const std::lock_guard<std::mutex>& writing) {
  for (const std::uint64_t key : keys) {
    if (!keeps(key, shard.table->resolution)) continue;
    if (shard.table->is_full()) {
      if (resolution() >= kCoarsest) return;
      make_room(shard, writing);
    }
    if (keeps(key, shard.table->resolution) && !shard.table->is_full()) shard.table->add(key, bit_of(member));
  }
}

void BlockIndex::make_room(Shard& shard, const std::lock_guard<std::mutex>&) {
  const Table& old = *shard.table;
  int kept = resolution();
  const auto num_kept = [&] {
    return static_cast<std::size_t>(std::ranges::count_if(old.slots(), [kept](const Table::Slot& slot) {
      return slot.members.load(std::memory_order_relaxed) != 0 &&
             keeps(slot.key.load(std::memory_order_relaxed), kept);
    }));
  };
  std::size_t num_slots = old.num_slots();
  for (std::size_t count = num_kept(); count * 5 > num_slots * 3; count = num_kept()) {
    if (num_slots < most_slots_) {
      num_slots *= 2;
    } else if (kept >= kCoarsest) {
      break;
    } else {
      int before = kept;
      resolution_.compare_exchange_strong(before, kept * 2);  // unless another shard has done it
      kept = resolution();
    }
  }
  auto anew = std::make_unique<Table>(num_slots, kept);
  for (const Table::Slot& slot : old.slots()) {
    const std::uint64_t members = slot.members.load(std::memory_order_relaxed);
    const std::uint64_t key = slot.key.load(std::memory_order_relaxed);
    if (members != 0 && keeps(key, kept)) anew->add(key, members);
  }
  const std::unique_lock swapping(shard.swapping);
  shard.table.swap(anew);
}

// A binary search for all members at once: it splits them at the middle block and first follows those that
// hold it. So the members that hold most are known first, and members that hold the same share their lookups.
class BlockIndex::Search {
 public:
  Search(const BlockIndex& index, const kv::BlockChain& chain) : index_(index), chain_(chain) {}

  Depths run(std::uint64_t members) {
    const std::size_t num_public = std::min(chain_.num_public_blocks(), chain_.hashes().size());
    public_ = kept_of(0, num_public);
    own_ = kept_of(num_public, chain_.hashes().size());
    divide(public_, 0, public_.size(), members);
    return depths_;
  }

 private:
  // The positions of the blocks that the index keeps.
  std::vector<int> kept_of(std::size_t begin, std::size_t end) const {
    const int resolution = index_.resolution();
    std::vector<int> kept;
    kept.reserve((end - begin) / static_cast<std::size_t>(resolution) + 1);
    for (std::size_t i = begin; i < end; ++i)
      if (keeps(key_of(chain_.hashes()[i]), resolution)) kept.push_back(static_cast<int>(i));
    return kept;
  }
  std::uint64_t holders(int block) {
    ++num_probes_;
    return index_.holders(chain_.hashes()[static_cast<std::size_t>(block)]);
  }
  void set(std::uint64_t members, int depth) {
    for (; members != 0; members &= members - 1)
      depths_[static_cast<std::size_t>(std::countr_zero(members))] = depth;
  }

  // `members` hold at least the first `low` and at most the first `high` kept blocks of the part.
  void divide(const std::vector<int>& part, std::size_t low, std::size_t high, std::uint64_t members) {
    if (members == 0) return;
    if (low == high || num_probes_ >= kMostProbes) {
      if (low > 0) set(members, part[low - 1] + 1);
      if (&part == &public_ && low == part.size()) divide(own_, 0, own_.size(), members);
      return;
    }
    const std::size_t middle = low + (high - low) / 2;
    const std::uint64_t found = holders(part[middle]) & members;
    divide(part, middle + 1, high, found);
    divide(part, low, middle, members & ~found);
  }

  const BlockIndex& index_;
  const kv::BlockChain& chain_;
  std::vector<int> public_;
  std::vector<int> own_;
  Depths depths_{};
  int num_probes_ = 0;
};

BlockIndex::Depths BlockIndex::find(const kv::BlockChain& chain) const {
  return Search(*this, chain).run(taken_.load(std::memory_order_relaxed));
}

std::size_t BlockIndex::num_blocks() const {
  std::size_t sum = 0;
  for (Shard& shard : shards_) {
    const std::lock_guard writing(shard.writing);
    sum += shard.table->num_live;
  }
  return sum;
}

std::size_t BlockIndex::num_bytes() const {
  std::size_t sum = 0;
  for (const Shard& shard : shards_) {
    const std::shared_lock reading(shard.swapping);
    sum += shard.table->num_slots() * sizeof(Table::Slot);
  }
  return sum;
}

}  // namespace kvasir::router
