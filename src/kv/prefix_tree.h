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

// The place of a published block: the number `index` of a chain, after the block `parent`, which is kNoBlock
// for the first.
struct BlockPlace {
  const BlockChain& chain;
  std::size_t index = 0;
  BlockId parent = kNoBlock;
};

// The longest cached prefix of a token list.
struct PrefixHit {
  std::vector<BlockId> blocks;  // full blocks, to be shared
  BlockId tail = kNoBlock;      // its first `num_tail_tokens` tokens continue the prefix; to be copied
  int num_tail_tokens = 0;

  int num_tokens() const { return static_cast<int>(blocks.size()) * kBlockTokens + num_tail_tokens; }
};

// Longest-prefix index over the published blocks of a pool, per cache namespace, and for public blocks over
// all of them. A leaf may be a partial block: the tail of a sequence that has left. Owned and touched by the
// engine thread only. Invariants: a node's block stays published while the node is linked; whoever shares a
// block shares all blocks before it, so the pool evicts leaves before their parents. Blocks of a namespace
// that follow public ones are a tree of their own, which is found by the public blocks' hash, so that each
// tree has one owner. They are found again once the public blocks are there again.
class PrefixTree {
 public:
  explicit PrefixTree(BlockPool& pool);

  // Tells other threads from now on which full blocks are there.
  void publish_to(std::shared_ptr<PublishedBlocks> index) { index_ = std::move(index); }

  // Compares tokens; the hashes only find candidates. Never covers the last token: its logits must be
  // computed. Pins nothing: share the blocks before the next eviction.
  PrefixHit find(const BlockChain& chain, std::span<const TokenId> tokens) const;
  // How many of the chain's first blocks, up to `most`, are published, by their hashes alone. O(log n).
  std::size_t num_published(const BlockChain& chain, std::size_t most = SIZE_MAX) const;

  // Publishes a full block, or returns the published block with the same content and frees `block`. If a
  // block with other content has the same hash, returns nothing and leaves `block` as it is.
  std::optional<BlockRef> publish(const BlockPlace& place, const BlockHash& hash,
                                  std::span<const TokenId> tokens, WritableBlock& block);
  // Publishes a block of 1 to kBlockTokens - 1 tokens as a leaf that can only be copied. Frees it instead
  // when a published block begins with the same tokens.
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
  // The node of a block, or a root, which has no tokens, and whose hash is that of the public block before
  // it.
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

  // The trees of a namespace, or of what is public.
  struct Space {
    OwnerId owner = kPublicOwner;
    const std::string* name = nullptr;  // null: public
    std::unordered_map<BlockHash, Node, BlockHashHasher> roots;
  };

  // Whether the block is the first of a tree, and the key of that tree's root.
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
  std::unordered_map<std::string, Space> spaces_;  // those of namespaces that have blocks
  std::unordered_map<BlockHash, Node*, BlockHashHasher> full_blocks_;
  std::shared_ptr<PublishedBlocks> index_;  // null: nobody asks
};

}  // namespace kvasir::kv
