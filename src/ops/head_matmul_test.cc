#include "ops/head_matmul.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "ops/random_tensor_test.h"

namespace kvasir::ops {
namespace {

TEST(HeadMatmul, MultipliesEachHeadByItsOwnMatrix) {
  std::mt19937 random(1);
  ComputePool pool(3);
  Context context(pool);
  constexpr std::size_t kHeads = 3;
  constexpr std::size_t kRows = 70;
  constexpr std::size_t kIn = 20;
  constexpr std::size_t kOut = 37;
  constexpr std::size_t kXStride = 24;
  constexpr std::size_t kYStride = 45;
  const std::vector<float> w = random_floats(kHeads * kOut * kIn, random);
  const std::vector<float> x = random_floats(kRows * kHeads * kXStride, random);
  const tensor::TensorView view = {
      reinterpret_cast<const std::byte*>(w.data()), tensor::DType::f32, {kHeads, kOut, kIn}};
  const auto run = [&](std::size_t first, std::size_t count) {
    std::vector<float> y(count * kHeads * kYStride, -1.0f);
    head_matmul(context, {std::span(x).subspan(first * kHeads * kXStride, count * kHeads * kXStride),
                          {4, kXStride},
                          view,
                          y,
                          {8, kYStride}});
    return y;
  };
  const std::vector<float> y = run(0, kRows);
  for (std::size_t head = 0; head < kRows * kHeads; ++head) {
    for (std::size_t d = 0; d < 8; ++d) EXPECT_EQ(y[head * kYStride + d], -1.0f);
    for (std::size_t o = 0; o < kOut; ++o) {
      double expected = 0;
      for (std::size_t i = 0; i < kIn; ++i)
        expected +=
            static_cast<double>(x[head * kXStride + 4 + i]) * w[((head % kHeads) * kOut + o) * kIn + i];
      ASSERT_NEAR(y[head * kYStride + 8 + o], expected, 1e-5);
    }
  }
  for (const std::size_t row : {std::size_t{0}, std::size_t{31}, std::size_t{69}}) {
    const std::vector<float> alone = run(row, 1);
    EXPECT_EQ(std::memcmp(alone.data(), &y[row * kHeads * kYStride], alone.size() * sizeof(float)), 0);
  }
}

}  // namespace
}  // namespace kvasir::ops
