#include "upstream/choose_member.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace kvasir::upstream {
namespace {

std::vector<Candidate> members(int num) {
  std::vector<Candidate> all;
  for (int i = 0; i < num; ++i) all.push_back({hash_of("m-" + std::to_string(i))});
  return all;
}

std::uint64_t key(int i) {
  return hash_of("conversation " + std::to_string(i));
}

TEST(ChooseMember, a_key_stays_and_keys_spread) {
  const std::vector<Candidate> all = members(4);
  std::map<std::size_t, int> taken;
  for (int i = 0; i < 4000; ++i) {
    const std::size_t chosen = choose_member(all, key(i));
    EXPECT_EQ(choose_member(all, key(i)), chosen);
    ++taken[chosen];
  }
  for (const auto& [member, count] : taken) EXPECT_NEAR(count, 1000, 150) << member;
  EXPECT_EQ(taken.size(), 4u);
}

TEST(ChooseMember, few_keys_move_when_a_member_goes) {
  const std::vector<Candidate> all = members(4);
  const std::vector<Candidate> fewer = members(3);
  for (int i = 0; i < 1000; ++i) {
    const std::size_t before = choose_member(all, key(i));
    if (before < 3) {
      EXPECT_EQ(choose_member(fewer, key(i)), before);
    }
  }
}

TEST(ChooseMember, weights_are_shares) {
  std::vector<Candidate> all = members(2);
  all[1].weight = 3;
  int num_second = 0;
  for (int i = 0; i < 4000; ++i) num_second += choose_member(all, key(i)) == 1 ? 1 : 0;
  EXPECT_NEAR(num_second, 3000, 150);
}

TEST(ChooseMember, a_popular_key_spreads_with_the_load) {
  std::vector<Candidate> all = members(4);
  for (int i = 0; i < 100; ++i) all[choose_member(all, key(7))].load += 1;
  for (const Candidate& one : all)
    EXPECT_LE(one.load, 33) << "a quarter over its share, and the one that comes";
  for (const Candidate& one : all) EXPECT_GE(one.load, 1);
}

TEST(ChooseMember, load_of_others_counts) {
  std::vector<Candidate> all = members(2);
  const std::size_t first = choose_member(all, key(3));
  all[first].load = 50;
  EXPECT_NE(choose_member(all, key(3)), first);
}

TEST(ChooseMember, hashes_are_the_same_everywhere) {
  EXPECT_EQ(hash_of("a"), hash_of("a"));
  EXPECT_NE(hash_of("a"), hash_of("b"));
  EXPECT_EQ(hash_of(""), 14087677454934409008u) << "other gateways have to agree";
}

}  // namespace
}  // namespace kvasir::upstream
