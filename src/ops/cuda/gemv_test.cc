#include "ops/cuda/gemv.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "base/check.h"
#include "ops/cuda/device.h"
#include "ops/cuda/gemm.h"
#include "ops/cuda/rows.h"
#include "ops/dequantize.h"

namespace kvasir::ops::cuda {
namespace {

using Then = GemvArgs::Then;

DeviceBuffer allocate(std::size_t bytes) {
  auto buffer = DeviceBuffer::allocate(bytes);
  CHECK(buffer.ok(), "{}", buffer.error().message);
  return std::move(*buffer);
}

// A matrix on both sides, as bf16.
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

  // Through e4m3, there and back.
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
      const int exponent = stored[i] >> 3 & 15;
      const int digits = stored[i] & 7;
      const float size = exponent == 0 ? std::ldexp(static_cast<float>(digits), -9)
                                       : std::ldexp(static_cast<float>(8 + digits), exponent - 10);
      const float exact = values[i];
      values[i] = (stored[i] >> 7 != 0 ? -size : size) * steps[i / std::size_t(cols)];
      EXPECT_NEAR(values[i], exact, std::abs(exact) / 15 + steps[i / std::size_t(cols)] / 256) << i;
    }
  }

  int rows, cols;
  std::vector<float> values;
  DeviceBuffer device, scales;
};

std::vector<double> product(const Matrix& x, const Matrix& w) {
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

std::vector<float> to_floats(const DeviceBuffer& buffer, std::size_t count, Then then) {
  const Stream stream;
  std::vector<float> values(count);
  if (then == Then::store_f32) {
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

void expect_near(const std::vector<float>& got, const std::vector<double>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    difference += std::pow(got[i] - wanted[i], 2);
    size += std::pow(wanted[i], 2);
  }
  EXPECT_LT(std::sqrt(difference / size), 5e-3);
}

TEST(Gemv, MultipliesAsDoublesDo) {
  for (const bool quantized : {false, true}) {
    for (const int cols : {256, 2064, 4096, 14336}) {
      for (const int rows : {1, 2}) {
        for (const Then then : {Then::store, Then::store_f32, Then::gate, Then::add}) {
          ASSERT_TRUE(gemv_takes(cols));
          SCOPED_TRACE(testing::Message() << "fp8 " << quantized << " cols " << cols << " rows " << rows
                                          << " then " << static_cast<int>(then));
          const Matrix x(rows, cols, 1);
          Matrix w(602, cols, 2);
          if (quantized) w.quantize();
          const int out = then == Then::gate ? 301 : 602;
          const DeviceBuffer y = allocate(static_cast<std::size_t>(rows * out) * 4);
          const Stream stream;
          fill_zero(stream.handle(), y.data(), y.size());
          gemv(stream.handle(), {.then = then,
                                 .rows = rows,
                                 .cols = cols,
                                 .out = 602,
                                 .x = x.device.data(),
                                 .w = w.device.data(),
                                 .w_scales = quantized ? w.scales.as<const float>() : nullptr,
                                 .y = y.data(),
                                 .scale = then == Then::add ? 0.5f : 1});
          stream.wait();
          std::vector<double> wanted = product(x, w);
          if (then == Then::add)
            for (double& value : wanted) value *= 0.5;
          if (then == Then::gate) {
            std::vector<double> both;
            for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r)
              for (std::size_t o = 0; o < 301; ++o) {
                const double gate = wanted[r * 602 + o];
                both.push_back(gate / (1 + std::exp(-gate)) * wanted[r * 602 + 301 + o]);
              }
            wanted = both;
          }
          expect_near(to_floats(y, wanted.size(), then), wanted);
        }
      }
    }
  }
}

TEST(Gemv, QuantizedProductsOfTheLibraryAreTheSame) {
  auto gemm = Gemm::create();
  ASSERT_TRUE(gemm.ok()) << gemm.error().message;
  for (const int rows : {1, 3, 16, 130}) {
    Matrix x(rows, 512, 3);
    Matrix w(320, 512, 4);
    x.quantize();
    w.quantize();
    const DeviceBuffer y = allocate(static_cast<std::size_t>(rows) * 320 * 2);
    const Stream stream;
    (*gemm)->run(stream.handle(), {.x = x.device.data(),
                                   .w = w.device.data(),
                                   .y = y.data(),
                                   .x_scales = x.scales.as<const float>(),
                                   .w_scales = w.scales.as<const float>(),
                                   .rows = rows,
                                   .cols = 512,
                                   .out = 320});
    stream.wait();
    expect_near(to_floats(y, static_cast<std::size_t>(rows) * 320, Then::store), product(x, w));
  }
}

}  // namespace
}  // namespace kvasir::ops::cuda
