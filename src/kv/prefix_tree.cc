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

PrefixHit PrefixTree::find(const BlockChain& chain, std::span<const TokenId> tokens) const {
  PrefixHit hit;
  if (tokens.empty()) return hit;
  const Node* node = nullptr;
  std::span<const TokenId> rest = tokens.first(tokens.size() - 1);
  while (true) {
    const std::size_t index = hit.blocks.size();
    if (begins_tree(chain, index)) node = find_root(chain, index);
    if (node == nullptr) return hit;
    if (index == chain.hashes().size() || rest.size() < kBlockTokens) break;
    const auto found = full_blocks_.find(chain.hashes()[index]);
    if (found == full_blocks_.end() || found->second->parent != node) break;
    if (!std::ranges::equal(found->second->tokens(), rest.first(kBlockTokens))) break;
    node = found->second;
    hit.blocks.push_back(id_of(node));
    rest = rest.subspan(kBlockTokens);
  }
  find_tail(node, rest.first(std::min<std::size_t>(rest.size(), kBlockTokens)), hit);
  return hit;
}

const PrefixTree::Node* PrefixTree::find_root(const BlockChain& chain, std::size_t index) const {
  const Space* space = &public_;
  if (index >= chain.num_public_blocks()) {
    const auto found = spaces_.find(chain.cache_namespace());
    if (found == spaces_.end()) return nullptr;
    space = &found->second;
  }
  const auto root = space->roots.find(root_key(chain, index));
  return root == space->roots.end() ? nullptr : &root->second;
}

// In lexicographic order, the child that has the longest prefix in common with `tokens` is right before or
// right after `tokens`.
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

std::size_t PrefixTree::num_published(const BlockChain& chain, std::size_t most) const {
  return num_first(chain, most, [this](const BlockHash& hash) { return full_blocks_.contains(hash); });
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
  BlockRef ref = pool_.publish(std::move(block), parent->space->owner);
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
    const BlockRef ref = pool_.publish(std::move(block), parent->space->owner);
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

PrefixTree::Space& PrefixTree::space_at(const BlockPlace& place) {
  if (place.index < place.chain.num_public_blocks()) return public_;
  const auto [space, added] = spaces_.try_emplace(place.chain.cache_namespace());
  if (added) {
    space->second.name = &space->first;
    space->second.owner = pool_.add_owner();
  }
  pool_.set_weight(space->second.owner, place.chain.weight());
  return space->second;
}

PrefixTree::Node* PrefixTree::node_at(const BlockPlace& place) {
  if (!begins_tree(place.chain, place.index)) {
    CHECK(nodes_[place.parent].parent && nodes_[place.parent].num_tokens == kBlockTokens,
          "block {} can have no children", place.parent);
    return &nodes_[place.parent];
  }
  Space& space = space_at(place);
  const BlockHash key = root_key(place.chain, place.index);
  const auto [root, added] = space.roots.try_emplace(key);
  if (added) {
    root->second.hash = key;
    root->second.space = &space;
    root->second.is_root = true;
  }
  return &root->second;
}

void PrefixTree::drop_empty_root(Node* node) {
  if (!node->is_root || !node->children.empty()) return;
  Space& space = *node->space;
  space.roots.erase(space.roots.find(node->hash));
  if (!space.roots.empty() || space.name == nullptr) return;
  pool_.remove_owner(space.owner);
  spaces_.erase(spaces_.find(*space.name));
}

void PrefixTree::link(Node* parent, BlockId id, std::span<const TokenId> tokens) {
  Node& node = nodes_[id];
  std::ranges::copy(tokens, node.token_array.begin());
  node.num_tokens = static_cast<int>(tokens.size());
  node.parent = parent;
  node.space = parent->space;
  parent->children.insert(&node);
}

}  // namespace kvasir::kv
