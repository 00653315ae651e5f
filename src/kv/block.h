#pragma once

#include <cstdint>

namespace kvasir::kv {

// How many tokens' keys and values one block holds.
inline constexpr int kBlockTokens = 16;

// A physical block of one worker's pool: an index in [0, num_blocks).
using BlockId = std::int32_t;
inline constexpr BlockId kNoBlock = -1;
// The owner of published blocks, as an index. It is used again after its owner has no blocks left.
using OwnerId = std::int32_t;
inline constexpr OwnerId kPublicOwner = 0;  // owns the blocks that all namespaces share

constexpr int blocks_for(int num_tokens) {
  return (num_tokens + kBlockTokens - 1) / kBlockTokens;
}

}  // namespace kvasir::kv
