#include "api/http/service/request_id.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <functional>
#include <map>

namespace kvasir::api {
namespace {

using Step = std::function<std::uint64_t(std::uint64_t)>;

// Finds the x with `x ^ step(x) == y`, if each iteration makes more bits of x right.
std::uint64_t undo(std::uint64_t y, const Step& step) {
  std::uint64_t x = y;
  for (int round = 0; round < 64; ++round) x = y ^ step(x);
  return x;
}

const std::array<Step, 4> kTempering = {
    [](std::uint64_t x) { return (x >> 29) & 0x5555555555555555u; },
    [](std::uint64_t x) { return (x << 17) & 0x71D67FFFEDA60000u; },
    [](std::uint64_t x) { return (x << 37) & 0xFFF7EEE000000000u; },
    [](std::uint64_t x) { return x >> 43; },
};

// Predicts the next output of a 64-bit Mersenne Twister from its last 312 outputs.
std::uint64_t next_of_twister(const std::array<std::uint64_t, 312>& drawn) {
  const auto state = [&](std::size_t i) {
    std::uint64_t x = drawn[i];
    for (std::size_t step = kTempering.size(); step-- > 0;) x = undo(x, kTempering[step]);
    return x;
  };
  const std::uint64_t both = (state(0) & ~0x7FFFFFFFull) | (state(1) & 0x7FFFFFFFull);
  std::uint64_t x = state(156) ^ (both >> 1) ^ ((both & 1) != 0 ? 0xB5026F5AA96619E9u : 0);
  for (const Step& step : kTempering) x ^= step(x);
  return x;
}

// A client that has seen seeds and ids must not be able to predict the next ones.
TEST(RequestId, DrawsCannotBePredicted) {
  std::array<std::uint64_t, 312> drawn{};
  for (std::uint64_t& seed : drawn) seed = draw_seed();
  EXPECT_NE(draw_seed(), next_of_twister(drawn));
}

TEST(RequestId, LettersAreAllLikely) {
  std::map<char, int> counts;
  for (int i = 0; i < 1'000; ++i)
    for (const char c : make_answer_id("")) ++counts[c];
  EXPECT_EQ(counts.size(), 62u);
  // The expected count is 387, with a standard deviation of 20.
  for (const auto& [letter, count] : counts) {
    EXPECT_GT(count, 260) << letter;
    EXPECT_LT(count, 520) << letter;
  }
}

}  // namespace
}  // namespace kvasir::api
