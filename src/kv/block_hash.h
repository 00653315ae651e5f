#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "kv/block.h"

namespace kvasir::kv {

// The content address of a full block. It depends on the block's tokens, all tokens before them and, unless
// the block is public, the cache namespace. Equal content gives equal hashes on every machine. If hashes are
// equal, the tokens are still compared before a block is reused, because XXH3 resists chance but not an
// adversary.
struct BlockHash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  bool operator==(const BlockHash&) const = default;
};

struct BlockHashHasher {
  std::size_t operator()(const BlockHash& h) const { return static_cast<std::size_t>(h.low); }
};

// Which requests may find the blocks of a token list.
struct CacheScope {
  std::string cache_namespace;
  int num_public_tokens = 0;  // first tokens whose blocks every namespace may find
  int weight = 1;             // at least 1; the namespace's share of the cache, relative to others
};

// The hashes of the full blocks of a growing token list. Blocks that lie wholly inside the public tokens have
// the same hashes in every namespace. From the first other block on, hashes depend on the namespace.
class BlockChain {
 public:
  explicit BlockChain(CacheScope scope);

  // Hashes the blocks of `tokens` that have become full. From one call to the next, `tokens` may only grow at
  // its end.
  void extend(std::span<const TokenId> tokens);
  std::span<const BlockHash> hashes() const { return hashes_; }
  const std::string& cache_namespace() const { return scope_.cache_namespace; }
  int weight() const { return scope_.weight; }
  // The number of first blocks that every namespace may find.
  std::size_t num_public_blocks() const {
    return static_cast<std::size_t>(scope_.num_public_tokens / kBlockTokens);
  }

 private:
  BlockHash parent_of(std::size_t block) const;

  CacheScope scope_;
  std::vector<BlockHash> hashes_;
};

// Returns how many of the chain's first blocks, up to `most`, are there according to is_there(hash). Searches
// the public blocks and the others separately: within each part, no block is there without the blocks before
// it, but a namespace's blocks may outlive the public blocks before them. O(log n).
template <class IsThere>
std::size_t num_first(const BlockChain& chain, std::size_t most, const IsThere& is_there) {
  const auto hashes = chain.hashes().first(std::min(most, chain.hashes().size()));
  const auto count = [&is_there](std::span<const BlockHash> part) {
    return static_cast<std::size_t>(std::ranges::partition_point(part, is_there) - part.begin());
  };
  const std::size_t num_public = std::min(chain.num_public_blocks(), hashes.size());
  const std::size_t num_found = count(hashes.first(num_public));
  return num_found < num_public ? num_found : num_found + count(hashes.subspan(num_public));
}

}  // namespace kvasir::kv
