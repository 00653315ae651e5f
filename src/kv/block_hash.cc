#include "kv/block_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <cstring>

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

}  // namespace

BlockChain::BlockChain(std::string_view cache_namespace)
    : root_(from_xxh(XXH3_128bits(cache_namespace.data(), cache_namespace.size()))) {}

void BlockChain::extend(std::span<const TokenId> tokens) {
  const std::size_t num_full = tokens.size() / kBlockTokens;
  while (hashes_.size() < num_full) {
    const BlockHash& parent = hashes_.empty() ? root_ : hashes_.back();
    hashes_.push_back(hash_block(parent, tokens.subspan(hashes_.size() * kBlockTokens, kBlockTokens)));
  }
}

}  // namespace kvasir::kv
