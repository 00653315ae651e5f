#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvasir::grammar {

// An open-addressing index from hashes to numbers. The caller stores the contents. Single entries cannot be
// removed.
class InternTable {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  // The stored number for which `equal(number)` holds, or kNone.
  template <class Equal>
  std::uint32_t find(std::uint64_t hash, Equal equal) const {
    if (slots_.empty()) return kNone;
    for (std::size_t i = hash & mask();; i = (i + 1) & mask()) {
      if (slots_[i].number == kNone) return kNone;
      if (slots_[i].tag == tag_of(hash) && equal(slots_[i].number)) return slots_[i].number;
    }
  }

  void insert(std::uint64_t hash, std::uint32_t number) {
    if ((size_ + 1) * 2 > slots_.size()) grow();
    place(hash, number);
    ++size_;
  }

  void clear() {
    // Shrinks the table, so that one large use does not slow down all later small ones.
    if (slots_.size() > 1024 && slots_.size() > 16 * size_) slots_.resize(64);
    if (size_ != 0) std::fill(slots_.begin(), slots_.end(), Slot{});
    size_ = 0;
  }

  std::size_t num_bytes() const { return slots_.size() * sizeof(Slot); }

 private:
  struct Slot {
    std::uint32_t number = kNone;
    std::uint32_t tag = 0;
    std::uint64_t hash = 0;
  };

  static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }
  std::size_t mask() const { return slots_.size() - 1; }

  void place(std::uint64_t hash, std::uint32_t number) {
    std::size_t i = hash & mask();
    while (slots_[i].number != kNone) i = (i + 1) & mask();
    slots_[i] = {number, tag_of(hash), hash};
  }

  void grow() {
    std::vector<Slot> old(std::max<std::size_t>(64, slots_.size() * 2));
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.number != kNone) place(slot.hash, slot.number);
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace kvasir::grammar
