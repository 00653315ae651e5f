#pragma once

#include <cstdint>
#include <vector>

#include "kv/block_hash.h"

namespace kvasir::wire {

// The changes in a worker's cache since its last message of this kind. No block is in both lists. A message
// may add a block that is known already, or remove one that was never known.
struct BlockChanges {
  std::uint64_t number = 0;  // grows by one with each message of one worker process
  bool anew = false;         // `added` is the whole cache; forget all earlier messages
  std::vector<kv::BlockHash> added;
  std::vector<kv::BlockHash> removed;
};

}  // namespace kvasir::wire
