#include "kv/block_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace kvasir::kv {

namespace {

BlockHash from_xxh(XXH128_hash_t h) {
  return BlockHash{h.high64, h.low64};
}

BlockHash hash_block(const BlockHash& parent, std::span<const TokenId> tokens) {
  std::array<unsigned char, sizeof(BlockHash) + kBlockTokens * sizeof(TokenId)> bytes;
  std::memcpy(bytes.data(), &parent, sizeof(parent));
  std::memcpy(bytes.data() + sizeof(parent), tokens.data(), tokens.size_bytes());
  return from_xxh(XXH3_128bits(bytes.data(), bytes.size()));
}

// A hash that stands for a namespace or, with another seed, for all namespaces. A chain's first hash depends
// on it.
enum class Root : XXH64_hash_t { one_namespace = 0, everybody = 1 };

BlockHash hash_root(Root root, std::string_view name) {
  return from_xxh(XXH3_128bits_withSeed(name.data(), name.size(), static_cast<XXH64_hash_t>(root)));
}

BlockHash hash_both(const BlockHash& a, const BlockHash& b) {
  const std::array<BlockHash, 2> both{a, b};
  return from_xxh(XXH3_128bits(both.data(), sizeof(both)));
}

}  // namespace

BlockChain::BlockChain(CacheScope scope) : scope_(std::move(scope)) {
  CHECK(scope_.num_public_tokens >= 0, "{} public tokens", scope_.num_public_tokens);
  CHECK(scope_.weight >= 1, "a weight of {}", scope_.weight);
}

BlockHash BlockChain::parent_of(std::size_t block) const {
  if (block < num_public_blocks()) return block == 0 ? hash_root(Root::everybody, "") : hashes_[block - 1];
  if (block > num_public_blocks()) return hashes_[block - 1];
  const BlockHash own = hash_root(Root::one_namespace, scope_.cache_namespace);
  return block == 0 ? own : hash_both(hashes_[block - 1], own);
}

void BlockChain::extend(std::span<const TokenId> tokens) {
  const std::size_t num_full = tokens.size() / kBlockTokens;
  while (hashes_.size() < num_full) {
    const std::size_t block = hashes_.size();
    hashes_.push_back(hash_block(parent_of(block), tokens.subspan(block * kBlockTokens, kBlockTokens)));
  }
}

}  // namespace kvasir::kv
