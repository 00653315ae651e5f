#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kv/block_table.h"
#include "kv/eviction_order.h"

namespace kvasir::kv {
namespace {

// A sequence. There are only two tokens, so that random sequences often share prefixes.
struct Walker {
  std::vector<TokenId> tokens;
  int num_computed = 0;
  BlockChain chain{CacheScope{}};
  BlockTable table;
};

// A pool, its tree, and the content of every physical block, as a device would hold it.
class World {
 public:
  explicit World(int num_blocks) : pool(num_blocks), tree(pool), content(num_blocks) {}

  void arrive(const CacheScope& scope, std::vector<TokenId> tokens) {
    auto walker = std::make_unique<Walker>();
    walker->tokens = std::move(tokens);
    walker->chain = BlockChain(scope);
    walker->chain.extend(walker->tokens);
    const PrefixHit hit = tree.find(walker->chain, walker->tokens);
    RC_ASSERT(hit.blocks.size() <= tree.num_published(walker->chain));
    RC_ASSERT(hit.num_tokens() < int(walker->tokens.size()));
    for (BlockId id : hit.blocks) walker->table.append(pool.share(id));
    walker->num_computed = int(hit.blocks.size()) * kBlockTokens;
    if (hit.tail != kNoBlock) copy_tail(*walker, hit);
    check_content(*walker);
    walkers.push_back(std::move(walker));
  }

  void compute(std::size_t which, int num_rows) {
    if (walkers.empty()) return;
    Walker& w = *walkers[which % walkers.size()];
    const int end = std::min<int>(w.num_computed + num_rows, int(w.tokens.size()));
    while (w.table.size() < blocks_for(end)) {
      if (pool.num_available() == 0) return;
      w.table.append(take());
    }
    for (int i = w.num_computed; i < end; ++i) {
      const BlockId id = w.table.ids()[i / kBlockTokens];
      RC_ASSERT(pool.num_refs(id) == 1);
      RC_ASSERT(i / kBlockTokens >= w.table.num_shared());
      content[id].resize(i % kBlockTokens);
      content[id].push_back(w.tokens[i]);
    }
    w.num_computed = end;
    w.table.publish(tree, w.chain, std::span(w.tokens).first(end));
    check_content(w);
  }

  void leave(std::size_t which) {
    if (walkers.empty()) return;
    which %= walkers.size();
    Walker& w = *walkers[which];
    w.table.retire(tree, w.chain, std::span(w.tokens).first(w.num_computed));
    walkers.erase(walkers.begin() + std::ptrdiff_t(which));
  }

  void check_ownership() {
    std::map<BlockId, int> owners;
    for (const auto& w : walkers)
      for (BlockId id : w->table.ids()) ++owners[id];
    for (const auto& [id, n] : owners) RC_ASSERT(pool.num_refs(id) == n);
    RC_ASSERT(pool.num_available() + int(owners.size()) == pool.num_blocks());
  }

  BlockPool pool;
  PrefixTree tree;
  std::vector<std::vector<TokenId>> content;
  std::vector<std::unique_ptr<Walker>> walkers;

 private:
  WritableBlock take() {
    const BlockId id = EvictionOrder(pool).next();
    if (pool.is_cached(id)) tree.evict(id);
    return pool.take(id);
  }
  void copy_tail(Walker& w, const PrefixHit& hit) {
    const BlockRef source = pool.share(hit.tail);
    if (pool.num_available() == 0) return;
    WritableBlock copy = take();
    RC_ASSERT(copy.id() != hit.tail);
    content[copy.id()] = content[hit.tail];
    w.table.append(std::move(copy));
    w.num_computed += hit.num_tail_tokens;
  }
  void check_content(const Walker& w) {
    for (int i = 0; i < w.num_computed; ++i)
      RC_ASSERT(content[w.table.ids()[i / kBlockTokens]][i % kBlockTokens] == w.tokens[i]);
  }
};

TEST(KvProperty, EveryBlockComesBackAndHoldsWhatItsReadersExpect) {
  EXPECT_TRUE(rc::check([] {
    World world(*rc::gen::inRange(1, 24));
    const int num_operations = *rc::gen::inRange(0, 80);
    for (int i = 0; i < num_operations; ++i) {
      const int kind = *rc::gen::inRange(0, 10);
      const auto which = *rc::gen::arbitrary<std::uint16_t>();
      if (kind < 3) {
        const auto length = *rc::gen::inRange(1, 100);
        const auto fork = *rc::gen::inRange(0, 100);
        std::vector<TokenId> tokens(length, 0);
        if (fork < length) tokens[fork] = 1;
        const int num_public = *rc::gen::element(0, 0, 20, 32, 50);
        world.arrive({*rc::gen::element(std::string(""), std::string("b")), std::min(num_public, length)},
                     std::move(tokens));
      } else if (kind < 8) {
        world.compute(which, *rc::gen::inRange(1, 50));
      } else {
        world.leave(which);
      }
      world.check_ownership();
    }
    while (!world.walkers.empty()) world.leave(0);
    RC_ASSERT(world.pool.num_available() == world.pool.num_blocks());
  }));
}

// A token list that a tenant has left behind. num_findable() computes from such lists what a tenant may find:
// its longest common beginning with the public blocks of all lists, and with its own lists that have as many
// public blocks.
struct Left {
  std::string ns;
  std::size_t num_public;  // tokens in public blocks
  std::vector<TokenId> tokens;
};

std::size_t num_common(const std::vector<TokenId>& a, const std::vector<TokenId>& b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

std::size_t num_findable(const std::vector<Left>& lists, const Left& asked) {
  std::size_t num_public = 0;
  for (const Left& left : lists)
    num_public = std::max(
        num_public, std::min({num_common(left.tokens, asked.tokens), left.num_public, asked.num_public}));
  if (num_public < asked.num_public) return std::min(num_public, asked.tokens.size() - 1);
  std::size_t num_found = num_public;
  for (const Left& left : lists)
    if (left.ns == asked.ns && left.num_public == asked.num_public)
      num_found = std::max(num_found, num_common(left.tokens, asked.tokens));
  return std::min(num_found, asked.tokens.size() - 1);
}

TEST(KvProperty, ATenantFindsItsOwnBlocksAndPublicOnesAlone) {
  EXPECT_TRUE(rc::check([] {
    World world(400);
    std::vector<Left> lists;
    const int num_lists = *rc::gen::inRange(1, 16);
    for (int i = 0; i < num_lists; ++i) {
      const int length = *rc::gen::inRange(1, 100);
      std::vector<TokenId> tokens(length, 0);
      for (const int fork : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 200)))
        if (fork < length) tokens[fork] = 1;
      const std::string ns(1, *rc::gen::element('a', 'b', 'c'));
      const int num_public = std::min(length, *rc::gen::element(0, 16, 20, 32, 50, 64));
      const Left asked{ns, static_cast<std::size_t>(num_public / kBlockTokens * kBlockTokens), tokens};
      BlockChain chain({ns, num_public});
      chain.extend(tokens);
      const auto num_found = static_cast<std::size_t>(world.tree.find(chain, tokens).num_tokens());
      RC_ASSERT(num_found == num_findable(lists, asked));
      const bool is_new = std::ranges::find(lists, ns, &Left::ns) == lists.end();
      if (is_new) RC_ASSERT(num_found <= static_cast<std::size_t>(num_public));
      world.arrive({ns, num_public}, tokens);
      world.compute(0, length);
      world.leave(0);
      lists.push_back(asked);
    }
  }));
}

}  // namespace
}  // namespace kvasir::kv
