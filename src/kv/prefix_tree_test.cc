#include "kv/prefix_tree.h"

#include <gtest/gtest.h>

#include <numeric>

#include "kv/block_table.h"
#include "kv/eviction_order.h"

namespace kvasir::kv {
namespace {

std::vector<TokenId> tokens(int n, TokenId first = 0) {
  std::vector<TokenId> out(n);
  std::iota(out.begin(), out.end(), first);
  return out;
}

class PrefixTreeTest : public testing::Test {
 protected:
  // Acts as a sequence that computed all of `known` and left.
  void leave_behind(const std::vector<TokenId>& known, const std::string& ns = "", int num_public = 0) {
    BlockChain chain({ns, num_public});
    chain.extend(known);
    BlockTable table;
    for (int i = 0; i < blocks_for(int(known.size())); ++i) table.append(take());
    table.retire(tree, chain, known);
  }
  WritableBlock take() {
    const BlockId id = EvictionOrder(pool).next();
    if (pool.is_cached(id)) tree.evict(id);
    return pool.take(id);
  }
  PrefixHit find(const std::vector<TokenId>& known, const std::string& ns = "", int num_public = 0) {
    BlockChain chain({ns, num_public});
    chain.extend(known);
    return tree.find(chain, known);
  }

  BlockPool pool{8};
  PrefixTree tree{pool};
};

TEST_F(PrefixTreeTest, FindsFullBlocksAndThePartialTail) {
  leave_behind(tokens(40));
  const PrefixHit hit = find(tokens(60));
  EXPECT_EQ(hit.blocks.size(), 2u);
  EXPECT_EQ(hit.num_tail_tokens, 8);
  EXPECT_EQ(hit.num_tokens(), 40);
}

TEST_F(PrefixTreeTest, NeverCoversTheLastToken) {
  leave_behind(tokens(40));
  EXPECT_EQ(find(tokens(40)).num_tokens(), 39);
  EXPECT_EQ(find(tokens(32)).num_tokens(), 31);
  EXPECT_EQ(find(tokens(33)).num_tokens(), 32);
  EXPECT_EQ(find(tokens(1)).num_tokens(), 0);
  EXPECT_EQ(find({}).num_tokens(), 0);
}

TEST_F(PrefixTreeTest, CopiesFromTheMiddleOfAFullBlock) {
  leave_behind(tokens(32));
  std::vector<TokenId> fork = tokens(40);
  fork[20] = 999;
  const PrefixHit hit = find(fork);
  EXPECT_EQ(hit.blocks.size(), 1u);
  EXPECT_EQ(hit.num_tail_tokens, 4);
}

TEST_F(PrefixTreeTest, TakesTheSiblingWithTheLongestCommonStart) {
  std::vector<TokenId> a = tokens(16), b = tokens(16), c = tokens(16);
  a[5] = 100;
  b[9] = 0;
  c[9] = 200;
  leave_behind(a);
  leave_behind(b);
  leave_behind(c);
  std::vector<TokenId> query = tokens(30);
  query[12] = 77;
  EXPECT_EQ(find(query).num_tail_tokens, 9);
  query[9] = 200;
  EXPECT_EQ(find(query).num_tail_tokens, 12);
}

TEST_F(PrefixTreeTest, NamespacesShareNothing) {
  leave_behind(tokens(40), "a");
  EXPECT_EQ(find(tokens(40), "b").num_tokens(), 0);
  EXPECT_EQ(find(tokens(40), "a").num_tokens(), 39);
}

TEST_F(PrefixTreeTest, SameContentIsStoredOnce) {
  leave_behind(tokens(40));
  leave_behind(tokens(40));
  EXPECT_EQ(pool.num_cached(), 3);
  EXPECT_EQ(pool.num_available(), 8);
}

TEST_F(PrefixTreeTest, EqualHashesWithOtherTokensAreNotReused) {
  const BlockHash hash{1, 2};
  WritableBlock first = take();
  WritableBlock second = take();
  const BlockChain chain{CacheScope{}};
  const auto ref = tree.publish({chain}, hash, tokens(16), first);
  ASSERT_TRUE(ref);
  EXPECT_FALSE(tree.publish({chain}, hash, tokens(16, 50), second));
  EXPECT_EQ(pool.num_refs(second.id()), 1);
}

TEST_F(PrefixTreeTest, EvictsTheLeastRecentlyUsedLeafFirst) {
  leave_behind(tokens(48));
  leave_behind(tokens(32, 500));
  find(tokens(48));
  std::vector<WritableBlock> taken;
  for (int i = 0; i < 3; ++i) taken.push_back(take());
  EXPECT_EQ(pool.num_cached(), 5);
  taken.push_back(take());
  EXPECT_EQ(find(tokens(60)).num_tokens(), 32);
  EXPECT_EQ(find(tokens(40, 500)).num_tokens(), 32);
  taken.push_back(take());
  taken.push_back(take());
  EXPECT_EQ(find(tokens(60)).num_tokens(), 0);
  EXPECT_EQ(find(tokens(40, 500)).num_tokens(), 32);
}

TEST_F(PrefixTreeTest, CountsPublishedHashes) {
  leave_behind(tokens(48));
  BlockChain chain{CacheScope{}};
  chain.extend(tokens(80));
  EXPECT_EQ(tree.num_published(chain), 3u);
  EXPECT_EQ(tree.num_published(chain, 2), 2u);
}

TEST(BlockChain, DependsOnEverythingBefore) {
  BlockChain a({""}), b({""}), c({"x"});
  a.extend(tokens(48));
  std::vector<TokenId> other = tokens(48);
  other[0] = 9;
  b.extend(other);
  c.extend(tokens(48));
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(a.hashes()[i] == b.hashes()[i]);
    EXPECT_FALSE(a.hashes()[i] == c.hashes()[i]);
  }
  BlockChain grown({""});
  for (int n = 0; n <= 48; n += 5) grown.extend(tokens(n));
  grown.extend(tokens(48));
  EXPECT_TRUE(std::ranges::equal(a.hashes(), grown.hashes()));
}

TEST(BlockChain, PublicBlocksHaveTheSameHashesInEveryNamespace) {
  BlockChain a({"a", 40}), b({"b", 40}), shorter({"a", 31}), own({"a"});
  for (BlockChain* chain : {&a, &b, &shorter, &own}) chain->extend(tokens(80));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(a.hashes()[i] == b.hashes()[i], i < 2);
    EXPECT_EQ(a.hashes()[i] == shorter.hashes()[i], i < 1);
    EXPECT_FALSE(a.hashes()[i] == own.hashes()[i]);
  }
  // Fewer public tokens than a block holds make no difference.
  BlockChain few({"a", 15});
  few.extend(tokens(80));
  EXPECT_TRUE(std::ranges::equal(few.hashes(), own.hashes()));
}

TEST_F(PrefixTreeTest, PublicBlocksAreFoundByEverybodyAndNothingElse) {
  leave_behind(tokens(60), "a", 40);
  EXPECT_EQ(find(tokens(60), "b", 40).num_tokens(), 32);
  EXPECT_EQ(find(tokens(60), "a", 40).num_tokens(), 59);
  EXPECT_EQ(find(tokens(60), "b", 47).num_tokens(), 32);
  // A request that declares no public tokens finds only blocks of its namespace.
  EXPECT_EQ(find(tokens(60), "b").num_tokens(), 0);
  EXPECT_EQ(find(tokens(60), "a").num_tokens(), 0);
  leave_behind(tokens(60), "b", 40);
  EXPECT_EQ(pool.num_cached(), 2 + 2 * 2);
}

TEST_F(PrefixTreeTest, APublicTailIsCopiedAsFarAsItsBlockIsPublic) {
  leave_behind(tokens(24), "a", 48);
  EXPECT_EQ(find(tokens(60), "b", 48).num_tokens(), 24);
  EXPECT_EQ(find(tokens(60), "b", 31).num_tokens(), 16);
}

TEST_F(PrefixTreeTest, ATenantsBlocksAreFoundAgainOnceThePublicOnesAreBack) {
  leave_behind(tokens(64), "a", 32);
  BlockChain chain({"a", 32});
  chain.extend(tokens(64));
  const PrefixHit before = find(tokens(65), "a", 32);
  ASSERT_EQ(before.blocks.size(), 4u);
  tree.evict(before.blocks[1]);
  EXPECT_EQ(find(tokens(65), "a", 32).num_tokens(), 16);
  EXPECT_EQ(tree.num_published(chain), 1u);
  leave_behind(tokens(32), "b", 32);
  EXPECT_EQ(find(tokens(65), "a", 32).num_tokens(), 64);
  EXPECT_EQ(tree.num_published(chain), 4u);
}

}  // namespace
}  // namespace kvasir::kv
