#pragma once

#include <span>
#include <string>
#include <vector>

#include "kv/prefix_tree.h"

namespace kvasir::kv {

// One sequence's blocks in the order of its tokens: shared ones first, then those it still fills.
// Released from its end, so that a prefix is evicted after what follows it.
class BlockTable {
 public:
  BlockTable() = default;
  BlockTable(BlockTable&&) = default;
  BlockTable& operator=(BlockTable&&) = delete;
  ~BlockTable() { clear(); }

  int size() const { return static_cast<int>(ids_.size()); }
  std::span<const BlockId> ids() const { return ids_; }
  int num_shared() const { return static_cast<int>(shared_.size()); }

  // Shared blocks come before any block of the sequence's own.
  void append(BlockRef block);
  void append(WritableBlock block);

  // Publishes the own blocks that `computed` (all tokens whose keys and values are in the blocks) fills. A
  // block whose content is already published is swapped for that one.
  void publish(PrefixTree& tree, const std::string& cache_namespace, const BlockChain& chain,
               std::span<const TokenId> computed);
  // Publishes also the partial tail, for a sequence that leaves. The table is empty afterwards.
  void retire(PrefixTree& tree, const std::string& cache_namespace, const BlockChain& chain,
              std::span<const TokenId> computed);
  void clear();

 private:
  std::vector<BlockId> ids_;
  std::vector<BlockRef> shared_;
  std::vector<WritableBlock> own_;
  bool publishable_ = true;  // false once a hash collided: what follows has no parent in the tree
};

}  // namespace kvasir::kv
