#pragma once

#include <cstdint>

namespace kvasir::kv {

// Tokens whose keys and values one block holds.
inline constexpr int kBlockTokens = 16;

// A physical block of one worker's pool: an index in [0, num_blocks).
using BlockId = std::int32_t;
inline constexpr BlockId kNoBlock = -1;
// Whose published blocks they are: an index, used again once its owner has none left.
using OwnerId = std::int32_t;
inline constexpr OwnerId kPublicOwner = 0;  // of blocks that everybody shares

constexpr int blocks_for(int num_tokens) {
  return (num_tokens + kBlockTokens - 1) / kBlockTokens;
}

}  // namespace kvasir::kv
