#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "kv/block.h"

namespace kvasir::kv {

// The content address of a full block: it depends on the block's tokens and on everything before them in the
// cache namespace. Equal content gives equal hashes on every machine. Equal hashes are still compared token
// by token before a block is reused, since XXH3 resists chance but not an adversary.
struct BlockHash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  bool operator==(const BlockHash&) const = default;
};

struct BlockHashHasher {
  std::size_t operator()(const BlockHash& h) const { return static_cast<std::size_t>(h.low); }
};

// The hashes of the full blocks of a growing token list.
class BlockChain {
 public:
  explicit BlockChain(std::string_view cache_namespace);

  // Hashes the blocks of `tokens` that have become full. `tokens` must only grow at its end.
  void extend(std::span<const TokenId> tokens);
  std::span<const BlockHash> hashes() const { return hashes_; }

 private:
  BlockHash root_;
  std::vector<BlockHash> hashes_;
};

}  // namespace kvasir::kv
