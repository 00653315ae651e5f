#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "base/check.h"
#include "ops/cuda/device.h"
#include "ops/cuda/gemv.h"
#include "ops/cuda/rows.h"
#include "ops/quant/dequantize.h"

// Code shared by the tests of products on the device.
namespace kvasir::ops::cuda {

inline DeviceBuffer allocate(std::size_t bytes) {
  auto buffer = DeviceBuffer::allocate(bytes);
  CHECK(buffer.ok(), "{}", buffer.error().message);
  return std::move(*buffer);
}

inline float e4m3_to_f32(std::uint8_t bits) {
  const int exponent = bits >> 3 & 15;
  const int digits = bits & 7;
  const float size = exponent == 0 ? std::ldexp(static_cast<float>(digits), -9)
                                   : std::ldexp(static_cast<float>(8 + digits), exponent - 10);
  return bits >> 7 != 0 ? -size : size;
}

// A matrix of bf16 on the host and on the device.
struct Matrix {
  Matrix(int r, int c, unsigned seed) : rows(r), cols(c), values(std::size_t(r) * std::size_t(c)) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<std::uint16_t> bits;
    for (float& value : values) {
      bits.push_back(f32_to_bf16(normal(random)));
      value = bf16_to_f32(bits.back());
    }
    device = allocate(bits.size() * 2);
    const Stream stream;
    copy_to_device(stream.handle(), device.data(), bits.data(), device.size());
    stream.wait();
  }

  // Rounds the numbers to e4m3 and back.
  void quantize() {
    const Stream stream;
    DeviceBuffer bytes = allocate(values.size());
    scales = allocate(std::size_t(rows) * sizeof(float));
    quantize_rows(
        stream.handle(),
        {.rows = rows, .dim = cols, .x = device.data(), .y = bytes.data(), .y_scales = scales.as<float>()});
    device = std::move(bytes);
    std::vector<std::uint8_t> stored(values.size());
    std::vector<float> steps(static_cast<std::size_t>(rows));
    copy_to_host(stream.handle(), stored.data(), device.data(), stored.size());
    copy_to_host(stream.handle(), steps.data(), scales.data(), scales.size());
    stream.wait();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float exact = values[i];
      values[i] = e4m3_to_f32(stored[i]) * steps[i / std::size_t(cols)];
      EXPECT_NEAR(values[i], exact, std::abs(exact) / 15 + steps[i / std::size_t(cols)] / 256) << i;
    }
  }

  int rows, cols;
  std::vector<float> values;
  DeviceBuffer device, scales;
};

inline std::vector<double> product(const Matrix& x, const Matrix& w) {
  std::vector<double> y;
  const auto cols = static_cast<std::size_t>(x.cols);
  for (std::size_t r = 0; r < static_cast<std::size_t>(x.rows); ++r) {
    for (std::size_t o = 0; o < static_cast<std::size_t>(w.rows); ++o) {
      double sum = 0;
      for (std::size_t c = 0; c < cols; ++c) sum += double{x.values[r * cols + c]} * w.values[o * cols + c];
      y.push_back(sum);
    }
  }
  return y;
}

inline std::vector<float> to_floats(const DeviceBuffer& buffer, std::size_t count, GemvArgs::Then then) {
  const Stream stream;
  std::vector<float> values(count);
  if (then == GemvArgs::Then::store_f32) {
    copy_to_host(stream.handle(), values.data(), buffer.data(), count * 4);
    stream.wait();
    return values;
  }
  std::vector<std::uint16_t> bits(count);
  copy_to_host(stream.handle(), bits.data(), buffer.data(), count * 2);
  stream.wait();
  for (std::size_t i = 0; i < count; ++i) values[i] = bf16_to_f32(bits[i]);
  return values;
}

inline void expect_near(const std::vector<float>& got, const std::vector<double>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    difference += std::pow(got[i] - wanted[i], 2);
    size += std::pow(wanted[i], 2);
  }
  EXPECT_LT(std::sqrt(difference / size), 5e-3);
}

// Applies what follows a product: half of the product is added to zeros, or it is gated.
inline std::vector<double> ended(std::vector<double> product, int rows, GemvArgs::Then then) {
  if (then == GemvArgs::Then::add)
    for (double& value : product) value *= 0.5;
  if (then != GemvArgs::Then::gate) return product;
  const std::size_t out = product.size() / static_cast<std::size_t>(rows);
  std::vector<double> gated;
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r)
    for (std::size_t o = 0; o < out / 2; ++o) {
      const double gate = product[r * out + o];
      gated.push_back(gate / (1 + std::exp(-gate)) * product[r * out + out / 2 + o]);
    }
  return gated;
}

}  // namespace kvasir::ops::cuda
