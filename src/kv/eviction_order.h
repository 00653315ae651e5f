#pragma once

#include <vector>

#include "kv/block_pool.h"

namespace kvasir::kv {

// Walks the available blocks of a pool in the order in which they should be taken: free blocks, then cached
// ones. The next cached block is the least recently used one of the owner with the most cached blocks for its
// weight, so that a flood of one owner's prompts evicts its own blocks first. The blocks of an owner that has
// not asked for a while count for more. Public blocks are taken only while they count for more than all other
// cached blocks together, since every owner may need them. Each step takes O(log owners). Changes nothing;
// the pool must not change during the walk.
class EvictionOrder {
 public:
  explicit EvictionOrder(const BlockPool& pool);

  // Returns the next block, or kNoBlock if there are no more.
  BlockId next();

 private:
  struct Turn {
    double claim = 0;   // what the owner's blocks count for; the owner with the most gives a block
    double factor = 1;  // what one block counts for
    BlockId head = kNoBlock;
  };

  Turn turn_of(OwnerId id) const;
  BlockId take_from(Turn& turn) const;
  void rank_owners();

  const BlockPool& pool_;
  BlockId free_;
  bool is_ranked_ = false;
  std::vector<Turn> owners_;  // a heap
  int num_owned_ = 0;         // cached blocks of all owners in `owners_`
  Turn public_;
};

}  // namespace kvasir::kv
