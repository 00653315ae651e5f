#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kv/block_hash.h"
#include "kv/block_pool.h"
#include "kv/published_blocks.h"

namespace kvasir::kv {

// The place of a published block: it is block number `index` of a chain and comes after the block `parent`,
// which is kNoBlock for the first block.
struct BlockPlace {
  const BlockChain& chain;
  std::size_t index = 0;
  BlockId parent = kNoBlock;
};

// The longest cached prefix of a token list.
struct PrefixHit {
  std::vector<BlockId> blocks;  // full blocks; the caller may share them
  BlockId tail = kNoBlock;      // its first `num_tail_tokens` tokens continue the prefix; may be copied
  int num_tail_tokens = 0;

  int num_tokens() const { return static_cast<int>(blocks.size()) * kBlockTokens + num_tail_tokens; }
};

// Longest-prefix index over the published blocks of a pool. Each cache namespace has its own blocks, and
// public blocks serve all of them. A leaf may be a partial block: the tail of a sequence that has left. Owned
// and touched by the engine thread only. Invariants: a node's block stays published while the node is linked;
// a sequence that shares a block shares all blocks before it, so the pool evicts leaves before their parents.
// Each tree has one owner, so a namespace's blocks that follow public blocks are a tree of their own, with
// the last public block's hash as its key. They cannot be found while that public block is gone.
class PrefixTree {
 public:
  explicit PrefixTree(BlockPool& pool);

  // From now on, `index` lists for other threads which full blocks are published.
  void publish_to(std::shared_ptr<PublishedBlocks> index) { index_ = std::move(index); }

  // Compares tokens; the hashes only find candidates. The hit never covers the last token, whose logits must
  // be computed. The blocks are not pinned: the caller must share them before the next eviction.
  PrefixHit find(const BlockChain& chain, std::span<const TokenId> tokens) const;
  // Returns how many of the chain's first blocks, up to `most`, are published. Compares only hashes. O(log
  // n).
  std::size_t num_published(const BlockChain& chain, std::size_t most = SIZE_MAX) const;

  // Publishes a full block, or returns the published block with the same content and frees `block`. If a
  // block with other content has the same hash, returns nothing and leaves `block` as it is.
  std::optional<BlockRef> publish(const BlockPlace& place, const BlockHash& hash,
                                  std::span<const TokenId> tokens, WritableBlock& block);
  // Publishes a block of 1 to kBlockTokens - 1 tokens as a leaf that can only be copied. If a published block
  // begins with the same tokens, frees `block` instead.
  void publish_tail(const BlockPlace& place, std::span<const TokenId> tokens, WritableBlock block);

  // Unlinks a cached block, which must be a leaf, and frees it.
  void evict(BlockId id);

 private:
  struct Node;
  struct ByTokens {
    using is_transparent = void;
    bool operator()(const Node* a, const Node* b) const;
    bool operator()(const Node* a, std::span<const TokenId> b) const;
    bool operator()(std::span<const TokenId> a, const Node* b) const;
  };
  struct Space;
  // The node of a block, or the root of a tree. A root has no tokens, and its hash is that of the public
  // block before the tree.
  struct Node {
    std::array<TokenId, kBlockTokens> token_array{};
    int num_tokens = 0;
    BlockHash hash;
    Node* parent = nullptr;
    Space* space = nullptr;
    bool is_root = false;
    std::set<Node*, ByTokens> children;

    std::span<const TokenId> tokens() const { return {token_array.data(), std::size_t(num_tokens)}; }
  };

  // The trees of a namespace, or the tree of the public blocks.
  struct Space {
    OwnerId owner = kPublicOwner;
    const std::string* name = nullptr;  // null: public
    std::unordered_map<BlockHash, Node, BlockHashHasher> roots;
  };

  // begins_tree() says whether the block is the first of a tree; root_key() is the key of that tree's root.
  static bool begins_tree(const BlockChain& chain, std::size_t index) {
    return index == 0 || index == chain.num_public_blocks();
  }
  static BlockHash root_key(const BlockChain& chain, std::size_t index) {
    return index == 0 ? BlockHash{} : chain.hashes()[index - 1];
  }

  BlockId id_of(const Node* node) const { return static_cast<BlockId>(node - nodes_.data()); }
  const Node* find_root(const BlockChain& chain, std::size_t index) const;
  Space& space_at(const BlockPlace& place);
  Node* node_at(const BlockPlace& place);
  void drop_empty_root(Node* node);
  void link(Node* parent, BlockId id, std::span<const TokenId> tokens);
  void find_tail(const Node* parent, std::span<const TokenId> tokens, PrefixHit& hit) const;

  BlockPool& pool_;
  std::vector<Node> nodes_;  // by block; never resized
  Space public_;
  std::unordered_map<std::string, Space> spaces_;  // only namespaces that have blocks
  std::unordered_map<BlockHash, Node*, BlockHashHasher> full_blocks_;
  std::shared_ptr<PublishedBlocks> index_;  // null: no other thread asks
};

}  // namespace kvasir::kv
