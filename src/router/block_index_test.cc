#include "router/block_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>

namespace kvasir::router {
namespace {

using Hashes = std::vector<kv::BlockHash>;

kv::BlockChain chain_of(TokenId first, int num_blocks, int num_public_blocks = 0, std::string name = "a") {
  kv::BlockChain chain({std::move(name), num_public_blocks * kv::kBlockTokens});
  std::vector<TokenId> tokens(static_cast<std::size_t>(num_blocks) * kv::kBlockTokens, first);
  chain.extend(tokens);
  return chain;
}

std::span<const kv::BlockHash> first_of(const kv::BlockChain& chain, std::size_t num) {
  return chain.hashes().first(num);
}

TEST(BlockIndex, TellsHowMuchEachMemberHolds) {
  BlockIndex index;
  const kv::BlockChain chain = chain_of(1, 100);
  std::vector<int> members;
  for (int i = 0; i < BlockIndex::kMostMembers; ++i) members.push_back(index.join().value());
  EXPECT_FALSE(index.join());
  const std::vector<std::size_t> held{0, 1, 50, 99, 100, 37, 50};
  for (std::size_t i = 0; i < held.size(); ++i) index.add(members[i], first_of(chain, held[i]));
  const BlockIndex::Depths depths = index.find(chain);
  for (std::size_t i = 0; i < held.size(); ++i) EXPECT_EQ(depths[i], held[i]) << i;
  EXPECT_EQ(depths[10], 0);
  EXPECT_EQ(index.num_blocks(), 100u);
  index.leave(members[4]);
  EXPECT_EQ(index.find(chain)[4], 0);
  EXPECT_EQ(index.num_blocks(), 99u);
  EXPECT_EQ(index.join(), members[4]) << "its number is free";
}

TEST(BlockIndex, BlocksAfterPublicOnesCountOnlyAfterAllOfThem) {
  BlockIndex index;
  const int whole = *index.join(), torn = *index.join(), other = *index.join();
  const kv::BlockChain chain = chain_of(1, 10, 4);
  index.add(whole, first_of(chain, 7));
  index.add(torn, first_of(chain, 2));
  index.add(torn, chain.hashes().subspan(4));  // own blocks may outlive public ones
  index.add(other, first_of(chain_of(1, 10, 4, "b"), 10));
  const BlockIndex::Depths depths = index.find(chain);
  EXPECT_EQ(depths[0], 7);
  EXPECT_EQ(depths[1], 2);
  EXPECT_EQ(depths[2], 4) << "another namespace shares the public ones";
}

TEST(BlockIndex, NumbersThatAreNoHashesFillItAndNothingMore) {
  BlockIndex index(1 << 20);
  const int member = *index.join();
  Hashes made;
  for (std::uint64_t i = 1; i <= 200'000; ++i) made.push_back({i, i});
  index.add(member, made);
  EXPECT_LT(index.num_blocks(), 100'000u);
  const kv::BlockChain chain = chain_of(1, 100);
  index.add(member, chain.hashes());
  EXPECT_LE(index.find(chain)[static_cast<std::size_t>(member)], 100);
  index.leave(member);
  EXPECT_EQ(index.num_blocks(), 0u);
}

TEST(BlockIndex, ASnapshotTakesThePlaceOfWhatWasKnown) {
  BlockIndex index;
  const int a = *index.join(), b = *index.join();
  const kv::BlockChain old = chain_of(1, 20), now = chain_of(2, 20);
  index.add(a, old.hashes());
  index.add(b, old.hashes());
  Hashes held(now.hashes().begin(), now.hashes().end());
  held.push_back(old.hashes()[0]);
  index.replace(a, held);
  EXPECT_EQ(index.find(old)[0], 1);
  EXPECT_EQ(index.find(now)[0], 20);
  EXPECT_EQ(index.find(old)[1], 20);
}

// Compares random additions to and removals from the ends of chains with plain sets.
TEST(BlockIndex, AgreesWithPlainSets) {
  BlockIndex index;
  std::mt19937 random(7);
  constexpr int kMembers = 5;
  std::vector<kv::BlockChain> chains;
  for (int i = 0; i < 60; ++i) chains.push_back(chain_of(i, 40));
  std::map<std::pair<int, int>, int> held;  // number of blocks, by member and chain
  for (int i = 0; i < kMembers; ++i) index.join();
  for (int i = 0; i < 20000; ++i) {
    const int member = static_cast<int>(random() % kMembers);
    const int number = static_cast<int>(random() % chains.size());
    const auto hashes = chains[static_cast<std::size_t>(number)].hashes();
    int& depth = held[{member, number}];
    const int next = static_cast<int>(random() % 41);
    if (next > depth)
      index.add(member,
                hashes.subspan(static_cast<std::size_t>(depth), static_cast<std::size_t>(next - depth)));
    else
      index.remove(member,
                   hashes.subspan(static_cast<std::size_t>(next), static_cast<std::size_t>(depth - next)));
    depth = next;
    if (i % 50 != 0) continue;
    const BlockIndex::Depths depths = index.find(chains[static_cast<std::size_t>(number)]);
    for (int m = 0; m < kMembers; ++m)
      ASSERT_EQ(depths[static_cast<std::size_t>(m)], (held[{m, number}])) << i;
  }
}

TEST(BlockIndex, AtItsBoundItIsCoarserAndNoLarger) {
  constexpr std::size_t kBytes = 1 << 20;
  BlockIndex index(kBytes);
  const int member = *index.join(), other = *index.join();
  std::vector<kv::BlockChain> chains;
  for (int i = 0; i < 1200; ++i) chains.push_back(chain_of(i, 200));
  for (const kv::BlockChain& chain : chains) index.add(member, first_of(chain, 150));
  EXPECT_LE(index.num_bytes(), kBytes);
  EXPECT_GT(index.resolution(), 1);
  EXPECT_LE(index.resolution(), 8) << "180,000 blocks, and room for 52,000";
  for (const kv::BlockChain& chain : chains) {
    const BlockIndex::Depths depths = index.find(chain);
    EXPECT_LE(depths[static_cast<std::size_t>(member)], 150);
    EXPECT_GE(depths[static_cast<std::size_t>(member)], 150 - 16 * index.resolution());
    EXPECT_EQ(depths[static_cast<std::size_t>(other)], 0);
  }
  index.leave(member);
  EXPECT_EQ(index.num_blocks(), 0u);
}

// Members add and evict on their own threads while another thread searches. An untouched chain is always
// found.
TEST(BlockIndex, IsReadWhileItChanges) {
  BlockIndex index;
  const kv::BlockChain steady = chain_of(9999, 64);
  const int keeper = *index.join();
  index.add(keeper, steady.hashes());
  std::atomic<bool> stop{false};
  std::vector<std::jthread> writers;
  for (int w = 0; w < 3; ++w)
    writers.emplace_back([&index, &stop, w, member = *index.join()] {
      for (int i = 0; !stop; ++i) {
        const kv::BlockChain chain = chain_of(w * 100000 + i % 500, 64);
        index.add(member, chain.hashes());
        if (i % 3 == 0) index.remove(member, chain.hashes().subspan(8));
        if (i % 400 == 399) index.replace(member, chain.hashes());
      }
    });
  for (int i = 0; i < 20000; ++i) ASSERT_EQ(index.find(steady)[static_cast<std::size_t>(keeper)], 64);
  stop = true;
}

}  // namespace
}  // namespace kvasir::router
