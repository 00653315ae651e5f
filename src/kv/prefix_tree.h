#pragma once

#include <array>
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

// The place of a published block: after `parent` (kNoBlock: first) in a cache namespace.
struct BlockPlace {
  const std::string& cache_namespace;
  BlockId parent = kNoBlock;
};

// The longest cached prefix of a token list.
struct PrefixHit {
  std::vector<BlockId> blocks;  // full blocks, to be shared
  BlockId tail = kNoBlock;      // its first `num_tail_tokens` tokens continue the prefix; to be copied
  int num_tail_tokens = 0;

  int num_tokens() const { return static_cast<int>(blocks.size()) * kBlockTokens + num_tail_tokens; }
};

// Longest-prefix index over the published blocks of a pool, per cache namespace. A leaf may be a partial
// block: the tail of a sequence that has left. Owned and touched by the engine thread only. Invariants: a
// node's block stays published while the node is linked; whoever shares a block shares all blocks before it,
// so the pool evicts leaves before their parents.
class PrefixTree {
 public:
  explicit PrefixTree(BlockPool& pool);

  // Tells other threads from now on which full blocks are there.
  void publish_to(std::shared_ptr<PublishedBlocks> index) { index_ = std::move(index); }

  // Compares tokens; the hashes only find candidates. Never covers the last token: its logits must be
  // computed. Pins nothing: share the blocks before the next eviction.
  PrefixHit find(const std::string& cache_namespace, const BlockChain& chain,
                 std::span<const TokenId> tokens) const;
  // How many of the first hashes have a published block. O(log n).
  int num_published(std::span<const BlockHash> hashes) const;

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
  // The node of a block, or the root of a namespace, which has no tokens.
  struct Node {
    std::array<TokenId, kBlockTokens> token_array{};
    int num_tokens = 0;
    BlockHash hash;
    Node* parent = nullptr;
    const std::string* root_name = nullptr;
    OwnerId owner = 0;
    std::set<Node*, ByTokens> children;

    std::span<const TokenId> tokens() const { return {token_array.data(), std::size_t(num_tokens)}; }
  };

  BlockId id_of(const Node* node) const { return static_cast<BlockId>(node - nodes_.data()); }
  Node* node_at(const BlockPlace& place);
  void drop_empty_root(Node* node);
  void link(Node* parent, BlockId id, std::span<const TokenId> tokens);
  void find_tail(const Node* parent, std::span<const TokenId> tokens, PrefixHit& hit) const;

  BlockPool& pool_;
  std::vector<Node> nodes_;  // by block; never resized
  std::unordered_map<std::string, Node> roots_;
  std::unordered_map<BlockHash, Node*, BlockHashHasher> full_blocks_;
  std::shared_ptr<PublishedBlocks> index_;  // null: nobody asks
};

}  // namespace kvasir::kv
