#pragma once

#include <cstdint>
#include <vector>

#include "kv/block_hash.h"

namespace kvasir::wire {

// What has changed in a worker's cache since the last message of these. No block is in both lists. A block
// may be added that is known already, or removed that was never known.
struct BlockChanges {
  std::uint64_t number = 0;  // counts up by one for each message of one worker's life
  bool anew = false;         // `added` is all that is there; what was known before is void
  std::vector<kv::BlockHash> added;
  std::vector<kv::BlockHash> removed;
};

}  // namespace kvasir::wire
