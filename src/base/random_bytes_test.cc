#include "base/random_bytes.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace kvasir::base {
namespace {

TEST(RandomBytes, NothingComesTwice) {
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 10'000; ++i) seen.insert(random_uint64());
  std::vector<std::uint64_t> others;
  std::thread([&] {
    for (int i = 0; i < 1'000; ++i) others.push_back(random_uint64());
  }).join();
  seen.insert(others.begin(), others.end());
  EXPECT_EQ(seen.size(), 11'000u);
}

TEST(RandomBytes, FillsWhatIsLargerThanItsBuffer) {
  std::vector<std::byte> bytes(5'001);
  fill_random(bytes);
  std::vector<int> counts(256);
  for (const std::byte b : bytes) ++counts[static_cast<std::size_t>(b)];
  // About 20 of each value are expected. The chance that a value is missing is one in a million.
  for (const int count : counts) EXPECT_GT(count, 0);
  fill_random({});
}

}  // namespace
}  // namespace kvasir::base
