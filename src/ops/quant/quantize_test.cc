#include "ops/quant/quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "ops/quant/dequantize.h"

namespace kvasir::ops {
namespace {

using tensor::DType;

std::vector<float> round_trip(DType type, const std::vector<float>& values) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(tensor::bytes_of(type, std::ssize(values))));
  quantize(type, values, bytes.data());
  std::vector<float> back(values.size());
  dequantize(type, bytes.data(), back);
  return back;
}

// The root mean square of the error, divided by that of the values.
double noise(DType type, const std::vector<float>& values) {
  const std::vector<float> back = round_trip(type, values);
  double error = 0;
  double size = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    error += std::pow(double{back[i]} - values[i], 2);
    size += std::pow(double{values[i]}, 2);
  }
  return std::sqrt(error / size);
}

std::vector<float> normal(float mean, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution(mean, 0.02f);
  std::vector<float> values(256 * 40);
  for (float& value : values) value = distribution(random);
  return values;
}

// The expected noise of normally distributed numbers: about 9 % for 4 symmetric bits, 7 % for 4 bits with a
// minimum and finer scales, 2 % for 6 bits, and 0.6 % for 8 bits.
TEST(Quantize, TheNoiseIsThatOfTheBits) {
  const std::vector<float> values = normal(0, 1);
  EXPECT_LT(noise(DType::q8_0, values), 0.006);
  EXPECT_LT(noise(DType::q6_k, values), 0.021);
  EXPECT_LT(noise(DType::q4_k, values), 0.078);
  EXPECT_LT(noise(DType::q4_0, values), 0.095);
  EXPECT_LT(noise(DType::f16, values), 0.0004);
  EXPECT_LT(noise(DType::bf16, values), 0.003);
  EXPECT_EQ(noise(DType::f32, values), 0);
  EXPECT_LT(noise(DType::q4_k, values), noise(DType::q4_0, values));
}

TEST(Quantize, AMinimumServesNumbersOfOneSign) {
  for (const float mean : {-0.1f, 0.1f}) EXPECT_LT(noise(DType::q4_k, normal(mean, 2)), 0.04);
}

TEST(Quantize, WhatIsOnTheGridStays) {
  std::vector<float> values(512);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.25f * (static_cast<float>(i % 16) - 8);
  for (const DType type : {DType::q4_0, DType::q4_k}) {
    const std::vector<float> back = round_trip(type, values);
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(back[i], values[i], 2e-3) << i;
  }
}

TEST(Quantize, HardNumbersStayFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> values(256, 0);
  values[3] = std::numeric_limits<float>::quiet_NaN();
  values[40] = kInfinity;
  values[41] = -kInfinity;
  values[200] = 1e-30f;
  values[201] = -3;
  for (const DType type : {DType::q8_0, DType::q4_0, DType::q4_k, DType::q6_k}) {
    const std::vector<float> back = round_trip(type, values);
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_TRUE(std::isfinite(back[i])) << i;
    EXPECT_NEAR(back[201], -3, 0.05);
    EXPECT_EQ(back[0], 0);
  }
  EXPECT_EQ(round_trip(DType::q4_k, std::vector<float>(256, 0)), std::vector<float>(256, 0));
}

}  // namespace
}  // namespace kvasir::ops
