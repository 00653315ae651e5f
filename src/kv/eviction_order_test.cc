#include "kv/eviction_order.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kv/block_table.h"

namespace kvasir::kv {
namespace {

// A pool whose blocks are taken in the order of eviction. Each sequence leaves as soon as it has its blocks.
class EvictionOrderTest : public testing::Test {
 protected:
  explicit EvictionOrderTest(int num_blocks = 64) : pool(num_blocks) {}

  static std::vector<TokenId> tokens(int n, TokenId first) {
    std::vector<TokenId> out(n);
    std::iota(out.begin(), out.end(), first);
    return out;
  }
  void leave_behind(CacheScope scope, const std::vector<TokenId>& known) {
    BlockChain chain(std::move(scope));
    chain.extend(known);
    const PrefixHit hit = tree.find(chain, known);
    BlockTable table;
    for (const BlockId id : hit.blocks) table.append(pool.share(id));
    while (table.size() < blocks_for(static_cast<int>(known.size()))) table.append(take());
    table.retire(tree, chain, known);
  }
  // Sends a prompt of full blocks that nobody has sent before.
  std::vector<TokenId> send_new(const CacheScope& scope, int num_blocks = 1) {
    const std::vector<TokenId> known = tokens(num_blocks * kBlockTokens, next_token_);
    next_token_ += num_blocks * kBlockTokens;
    leave_behind(scope, known);
    return known;
  }
  WritableBlock take() {
    const BlockId id = EvictionOrder(pool).next();
    if (pool.is_cached(id)) tree.evict(id);
    return pool.take(id);
  }
  // Returns how many blocks of these prompts are still cached.
  int num_kept(const CacheScope& scope, const std::vector<std::vector<TokenId>>& prompts) {
    int num = 0;
    for (std::vector<TokenId> prompt : prompts) {
      BlockChain chain(scope);
      prompt.push_back(-1);
      chain.extend(prompt);
      num += static_cast<int>(tree.find(chain, prompt).blocks.size());
    }
    return num;
  }

  BlockPool pool;
  PrefixTree tree{pool};
  double pool_time_s_ = 0;
  TokenId next_token_ = 1000;
};

const CacheScope kLight{.cache_namespace = "light", .weight = 1};
const CacheScope kHeavy{.cache_namespace = "heavy", .weight = 3};

TEST_F(EvictionOrderTest, AFloodEvictsItsOwnBlocksFirst) {
  const auto quiet = send_new(kLight, 32);
  for (int i = 0; i < 500; ++i) send_new({.cache_namespace = "flood"});
  EXPECT_EQ(num_kept(kLight, {quiet}), 32);
}

TEST_F(EvictionOrderTest, AnOwnerThatStaysAwayGivesWay) {
  const auto gone = send_new({.cache_namespace = "gone"}, 32);
  pool.set_now(3600);
  for (int i = 0; i < 60; ++i) send_new({.cache_namespace = "here"});
  // After 3,600 s, each block of "gone" counts for 4,096 blocks of "here".
  EXPECT_EQ(num_kept({.cache_namespace = "gone"}, {gone}), 4);
  for (int i = 0; i < 4; ++i) send_new({.cache_namespace = "here"});
  EXPECT_EQ(num_kept({.cache_namespace = "gone"}, {gone}), 0);
}

TEST_F(EvictionOrderTest, OwnersKeepBlocksByTheirWeights) {
  std::vector<std::vector<TokenId>> light, heavy;
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    const int num_blocks = 1 + static_cast<int>(random() % 4);
    if (random() % 2 == 0)
      light.push_back(send_new(kLight, num_blocks));
    else
      heavy.push_back(send_new(kHeavy, num_blocks));
  }
  EXPECT_NEAR(num_kept(kLight, light), 16, 4);
  EXPECT_NEAR(num_kept(kHeavy, heavy), 48, 4);
}

TEST_F(EvictionOrderTest, AFloodLeavesAnotherItsShareAndNoMore) {
  for (const int weight : {1, 3, 7}) {
    SCOPED_TRACE(weight);
    const CacheScope quiet{.cache_namespace = "quiet" + std::to_string(weight), .weight = weight};
    const CacheScope flood{.cache_namespace = "flood" + std::to_string(weight)};
    std::vector<std::vector<TokenId>> prompts;
    for (int i = 0; i < 64; ++i) prompts.push_back(send_new(quiet));
    for (int i = 0; i < 500; ++i) send_new(flood);
    EXPECT_NEAR(num_kept(quiet, prompts), 64 * weight / (weight + 1), 1);
    pool.set_now(pool_time_s_ += 1e6);  // later rounds evict the blocks of both first
  }
}

TEST_F(EvictionOrderTest, AWeightThatChangesHoldsFromTheNextBlockOn) {
  std::vector<std::vector<TokenId>> prompts;
  for (int i = 0; i < 64; ++i) prompts.push_back(send_new(kLight));
  prompts.push_back(send_new({.cache_namespace = "light", .weight = 3}));
  for (int i = 0; i < 500; ++i) send_new({.cache_namespace = "flood"});
  EXPECT_NEAR(num_kept(kLight, prompts), 48, 1);
}

// Public blocks are worth keeping, because the tenants' blocks after a public prompt are of no use without
// it.
TEST_F(EvictionOrderTest, PublicBlocksStayBesideFloodsUpToHalfOfTheCache) {
  const auto prompt = tokens(20 * kBlockTokens, 0);
  const CacheScope asks{.cache_namespace = "asks", .num_public_tokens = 20 * kBlockTokens};
  leave_behind(asks, prompt);
  for (int i = 0; i < 500; ++i)
    send_new({.cache_namespace = "flood" + std::to_string(i % 3), .weight = 1 + i % 3});
  EXPECT_EQ(num_kept(asks, {prompt}), 20);
  const auto large = tokens(50 * kBlockTokens, 100'000);
  const CacheScope asks_more{.cache_namespace = "asks", .num_public_tokens = 50 * kBlockTokens};
  leave_behind(asks_more, large);
  for (int i = 0; i < 500; ++i) send_new({.cache_namespace = "flood"});
  EXPECT_NEAR(num_kept(asks_more, {large}), 32, 1);
}

}  // namespace
}  // namespace kvasir::kv
