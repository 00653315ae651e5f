#include "kv/prefix_tree.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace kvasir::kv {

namespace {

bool less(std::span<const TokenId> a, std::span<const TokenId> b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

int num_common(std::span<const TokenId> a, std::span<const TokenId> b) {
  const auto ends = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<int>(ends.first - a.begin());
}

}  // namespace

bool PrefixTree::ByTokens::operator()(const Node* a, const Node* b) const {
  return less(a->tokens(), b->tokens());
}
bool PrefixTree::ByTokens::operator()(const Node* a, std::span<const TokenId> b) const {
  return less(a->tokens(), b);
}
bool PrefixTree::ByTokens::operator()(std::span<const TokenId> a, const Node* b) const {
  return less(a, b->tokens());
}

PrefixTree::PrefixTree(BlockPool& pool) : pool_(pool), nodes_(pool.num_blocks()) {}

PrefixHit PrefixTree::find(const std::string& cache_namespace, const BlockChain& chain,
                           std::span<const TokenId> tokens) const {
  PrefixHit hit;
  const auto root = roots_.find(cache_namespace);
  if (root == roots_.end() || tokens.empty()) return hit;
  const Node* node = &root->second;
  std::span<const TokenId> rest = tokens.first(tokens.size() - 1);
  for (const BlockHash& hash : chain.hashes()) {
    if (rest.size() < kBlockTokens) break;
    const auto found = full_blocks_.find(hash);
    if (found == full_blocks_.end() || found->second->parent != node) break;
    if (!std::ranges::equal(found->second->tokens(), rest.first(kBlockTokens))) break;
    node = found->second;
    hit.blocks.push_back(id_of(node));
    rest = rest.subspan(kBlockTokens);
  }
  find_tail(node, rest.first(std::min<std::size_t>(rest.size(), kBlockTokens)), hit);
  return hit;
}

// In lexicographic order, the child with the longest common prefix stands right before or right after
// `tokens`.
void PrefixTree::find_tail(const Node* parent, std::span<const TokenId> tokens, PrefixHit& hit) const {
  const auto consider = [&](const Node* child) {
    const int common = num_common(child->tokens(), tokens);
    if (common <= hit.num_tail_tokens) return;
    hit.tail = id_of(child);
    hit.num_tail_tokens = common;
  };
  const auto after = parent->children.lower_bound(tokens);
  if (after != parent->children.end()) consider(*after);
  if (after != parent->children.begin()) consider(*std::prev(after));
}

int PrefixTree::num_published(std::span<const BlockHash> hashes) const {
  const auto end = std::partition_point(hashes.begin(), hashes.end(),
                                        [&](const BlockHash& h) { return full_blocks_.contains(h); });
  return static_cast<int>(end - hashes.begin());
}

std::optional<BlockRef> PrefixTree::publish(const BlockPlace& place, const BlockHash& hash,
                                            std::span<const TokenId> tokens, WritableBlock& block) {
  CHECK(tokens.size() == kBlockTokens, "{} tokens", tokens.size());
  Node* parent = node_at(place);
  if (const auto found = full_blocks_.find(hash); found != full_blocks_.end()) {
    const Node* same = found->second;
    if (same->parent != parent || !std::ranges::equal(same->tokens(), tokens)) {
      drop_empty_root(parent);
      return std::nullopt;
    }
    [[maybe_unused]] const WritableBlock duplicate = std::move(block);
    return pool_.share(id_of(same));
  }
  BlockRef ref = pool_.publish(std::move(block), parent->owner);
  link(parent, ref.id(), tokens);
  nodes_[ref.id()].hash = hash;
  full_blocks_.emplace(hash, &nodes_[ref.id()]);
  if (index_) index_->add(hash);
  return ref;
}

void PrefixTree::publish_tail(const BlockPlace& place, std::span<const TokenId> tokens, WritableBlock block) {
  CHECK(!tokens.empty() && tokens.size() < kBlockTokens, "{} tokens", tokens.size());
  Node* parent = node_at(place);
  const auto after = parent->children.lower_bound(tokens);
  const bool covered =
      after != parent->children.end() && num_common((*after)->tokens(), tokens) == int(tokens.size());
  if (!covered) {
    const BlockRef ref = pool_.publish(std::move(block), parent->owner);
    link(parent, ref.id(), tokens);
  }
}

void PrefixTree::evict(BlockId id) {
  Node& node = nodes_[id];
  CHECK(node.parent, "block {} is not in the tree", id);
  CHECK(node.children.empty(), "block {} is not a leaf", id);
  if (node.num_tokens == kBlockTokens) {
    full_blocks_.erase(node.hash);
    if (index_) index_->remove(node.hash);
  }
  pool_.evict(id);
  Node* parent = std::exchange(node.parent, nullptr);
  parent->children.erase(&node);
  drop_empty_root(parent);
}

PrefixTree::Node* PrefixTree::node_at(const BlockPlace& place) {
  if (place.parent != kNoBlock) {
    CHECK(nodes_[place.parent].parent && nodes_[place.parent].num_tokens == kBlockTokens,
          "block {} can have no children", place.parent);
    return &nodes_[place.parent];
  }
  const auto [root, added] = roots_.try_emplace(place.cache_namespace);
  if (added) {
    root->second.root_name = &root->first;
    root->second.owner = pool_.add_owner();
  }
  return &root->second;
}

void PrefixTree::drop_empty_root(Node* node) {
  if (!node->root_name || !node->children.empty()) return;
  pool_.remove_owner(node->owner);
  roots_.erase(roots_.find(*node->root_name));
}

void PrefixTree::link(Node* parent, BlockId id, std::span<const TokenId> tokens) {
  Node& node = nodes_[id];
  std::ranges::copy(tokens, node.token_array.begin());
  node.num_tokens = static_cast<int>(tokens.size());
  node.parent = parent;
  node.owner = parent->owner;
  parent->children.insert(&node);
}

}  // namespace kvasir::kv
