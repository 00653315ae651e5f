#include "kv/block_table.h"

#include <optional>
#include <utility>

#include "base/check.h"

namespace kvasir::kv {

void BlockTable::append(BlockRef block) {
  CHECK(own_.empty(), "a shared block after an own one");
  ids_.push_back(block.id());
  shared_.push_back(std::move(block));
}

void BlockTable::append(WritableBlock block) {
  ids_.push_back(block.id());
  own_.push_back(std::move(block));
}

void BlockTable::publish(PrefixTree& tree, const BlockChain& chain, std::span<const TokenId> computed) {
  const std::size_t num_full = computed.size() / kBlockTokens;
  CHECK(num_full <= ids_.size() && num_full <= chain.hashes().size(), "{} full blocks of {}", num_full,
        size());
  std::size_t num_published = 0;
  while (publishable_ && shared_.size() < num_full) {
    const std::size_t i = shared_.size();
    const BlockPlace place{chain, i, i == 0 ? kNoBlock : ids_[i - 1]};
    std::optional<BlockRef> ref = tree.publish(
        place, chain.hashes()[i], computed.subspan(i * kBlockTokens, kBlockTokens), own_[num_published]);
    publishable_ = ref.has_value();
    if (!publishable_) break;
    ids_[i] = ref->id();
    shared_.push_back(*std::move(ref));
    ++num_published;
  }
  own_.erase(own_.begin(), own_.begin() + static_cast<std::ptrdiff_t>(num_published));
}

void BlockTable::retire(PrefixTree& tree, const BlockChain& chain, std::span<const TokenId> computed) {
  publish(tree, chain, computed);
  const std::size_t num_full = computed.size() / kBlockTokens;
  const std::span<const TokenId> tail = computed.subspan(num_full * kBlockTokens);
  if (publishable_ && !tail.empty() && num_full < ids_.size()) {
    CHECK(shared_.size() == num_full, "{} of {} full blocks are shared", shared_.size(), num_full);
    while (own_.size() > 1) own_.pop_back();

    tree.publish_tail({chain, num_full, num_full == 0 ? kNoBlock : ids_[num_full - 1]}, tail,
                      std::move(own_.front()));
  }
  clear();
}

void BlockTable::clear() {
  while (!own_.empty()) own_.pop_back();
  while (!shared_.empty()) shared_.pop_back();
  ids_.clear();
  publishable_ = true;
}

}  // namespace kvasir::kv
