#pragma once

#include <span>
#include <vector>

#include "kv/prefix_tree.h"

namespace kvasir::kv {

// One sequence's blocks in the order of its tokens: shared blocks first, then the blocks that it still fills.
// A table releases its last block first, so that a prefix is evicted after the blocks that follow it.
class BlockTable {
 public:
  BlockTable() = default;
  BlockTable(BlockTable&&) = default;
  BlockTable& operator=(BlockTable&&) = delete;
  ~BlockTable() { clear(); }

  int size() const { return static_cast<int>(ids_.size()); }
  std::span<const BlockId> ids() const { return ids_; }
  int num_shared() const { return static_cast<int>(shared_.size()); }

  // Shared blocks must come before the sequence's own blocks.
  void append(BlockRef block);
  void append(WritableBlock block);

  // Publishes the sequence's own blocks that are full. `computed` has all tokens whose keys and values are in
  // the blocks. A block whose content is already published is replaced by the published one.
  void publish(PrefixTree& tree, const BlockChain& chain, std::span<const TokenId> computed);
  // Publishes the full blocks and the partial block at the end, for a sequence that leaves. The table is
  // empty afterwards.
  void retire(PrefixTree& tree, const BlockChain& chain, std::span<const TokenId> computed);
  void clear();

 private:
  std::vector<BlockId> ids_;
  std::vector<BlockRef> shared_;
  std::vector<WritableBlock> own_;
  bool publishable_ = true;  // false after a hash collision: later blocks have no parent in the tree
};

}  // namespace kvasir::kv
