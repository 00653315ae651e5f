#pragma once

#include <vector>

#include "kv/block_pool.h"

namespace kvasir::kv {

// Walks the available blocks of a pool in the order in which they should be taken: the free ones, then cached
// ones. Cached blocks come from the owner with the most of them for its weight, its least recently used ones
// first, so that a flood of one owner's prompts evicts its own blocks before anybody else's. An owner that
// has not asked for a while counts for more than it has. Public blocks go while they are more than all others
// together, since all may need them. Each block takes O(log owners). Changes nothing; the pool must not
// change meanwhile.
class EvictionOrder {
 public:
  explicit EvictionOrder(const BlockPool& pool);

  // kNoBlock: there are no more.
  BlockId next();

 private:
  struct Turn {
    double claim = 0;   // what the owner's blocks count for; the largest claim gives a block
    double factor = 1;  // what one of them counts for
    BlockId head = kNoBlock;
  };

  Turn turn_of(OwnerId id) const;
  BlockId take_from(Turn& turn) const;
  void rank_owners();

  const BlockPool& pool_;
  BlockId free_;
  bool is_ranked_ = false;
  std::vector<Turn> owners_;  // a heap
  int num_owned_ = 0;         // cached blocks of all of them
  Turn public_;
};

}  // namespace kvasir::kv
