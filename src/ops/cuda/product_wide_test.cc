#include "ops/cuda/product_wide.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "ops/cuda/device.h"
#include "ops/cuda/device_matrix_test.h"

namespace kvasir::ops::cuda {
namespace {

using Then = GemvArgs::Then;

class WideProducts : public testing::TestWithParam<Then> {
 protected:
  void SetUp() override {
    if (architecture() != 90) GTEST_SKIP() << "sm_" << architecture() << " has no such products";
  }

  std::vector<float> run(WideProductArgs args) {
    GemmArgs& p = args.product;
    args.gated = GetParam() == Then::gate;
    if (GetParam() == Then::store_f32) p.out_type = tensor::DType::f32;
    if (GetParam() == Then::add) p.into = GemmArgs::Into::add, p.scale = 0.5f;
    const auto count = static_cast<std::size_t>(p.rows * (args.gated ? p.out / 2 : p.out));
    const DeviceBuffer y = allocate(count * 4);
    fill_zero(stream_.handle(), y.data(), y.size());
    p.y = y.data();
    multiply_wide(stream_.handle(), args);
    stream_.wait();
    return to_floats(y, count, GetParam());
  }

  static GemmArgs args_of(const Matrix& x, const Matrix& w) {
    return {.x = x.device.data(),
            .w = w.device.data(),
            .x_scales = x.scales.as<const float>(),
            .w_scales = w.scales.as<const float>(),
            .rows = x.rows,
            .cols = x.cols,
            .out = w.rows};
  }

  // The fewest products that use every tile and every way to divide it.
  void expect_all(int out, int cols, bool quantized) {
    Matrix w(out, cols, 2);
    if (quantized) w.quantize();
    for (const int rows : {1, 16, 30, 64, 65, 128, 130, 300}) {
      Matrix x(rows, cols, 1);
      if (quantized) x.quantize();
      const std::vector<double> wanted = ended(product(x, w), rows, GetParam());
      for (const WideShape shape : {WideShape{1, 1}, {3, 1}, {8, 1}, {1, 2}, {4, 2}}) {
        if (shape.parts > cols / (quantized ? 128 : 64)) continue;
        SCOPED_TRACE(testing::Message() << "out " << out << " cols " << cols << " rows " << rows << " parts "
                                        << shape.parts << " sharers " << shape.sharers);
        expect_near(run({.product = args_of(x, w), .shape = shape}), wanted);
      }
    }
  }

  Stream stream_;
};

TEST_P(WideProducts, TakeBf16) {
  expect_all(608, 1032, false);  // a multiple of neither a tile nor a step
  expect_all(96, 64, false);
}

TEST_P(WideProducts, TakeEightBits) {
  expect_all(608, 1040, true);
  expect_all(96, 128, true);
}

TEST_P(WideProducts, ARowIsTheSameAmongOthers) {
  for (const bool quantized : {false, true}) {
    Matrix w(608, 1024, 2);
    Matrix x(300, 1024, 1);
    if (quantized) w.quantize(), x.quantize();
    GemmArgs args = args_of(x, w);
    args.rows = 1;
    const std::vector<float> alone = run({.product = args, .shape = {3, 1}});
    for (const int rows : {7, 20, 64, 100, 200, 300}) {
      args.rows = rows;
      std::vector<float> among = run({.product = args, .shape = {3, rows > 64 ? 2 : 1}});
      among.resize(alone.size());
      EXPECT_EQ(among, alone) << rows;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ends, WideProducts,
                         testing::Values(Then::store, Then::store_f32, Then::add, Then::gate));

TEST(WideProduct, IsTakenWhereTheGpuAndTheSizesFit) {
  const GemmArgs fits{.rows = 1, .cols = 64, .out = 8};
  EXPECT_EQ(wide_product_takes(fits), architecture() == 90);
  const auto refuses = [&](auto change) {
    GemmArgs args = fits;
    change(args);
    return !wide_product_takes(args);
  };
  EXPECT_TRUE(refuses([](GemmArgs& args) { args.out = 12; }));
  EXPECT_TRUE(refuses([](GemmArgs& args) { args.cols = 60; }));
  EXPECT_TRUE(refuses([](GemmArgs& args) { args.rows = 0; }));
  EXPECT_TRUE(refuses([](GemmArgs& args) { args.type = tensor::DType::f16; }));
  EXPECT_TRUE(refuses([](GemmArgs& args) {
    args.out_type = tensor::DType::f32;
    args.into = GemmArgs::Into::add;
  }));
}

TEST(WideProduct, AddsABias) {
  if (architecture() != 90) GTEST_SKIP() << "sm_" << architecture() << " has no such products";
  const Matrix x(20, 256, 1);
  const Matrix w(304, 256, 2);
  const Matrix bias(1, 304, 3);
  const DeviceBuffer y = allocate(std::size_t{20} * 304 * 2);
  const Stream stream;
  multiply_wide(stream.handle(), {.product = {.x = x.device.data(),
                                              .w = w.device.data(),
                                              .bias = bias.device.data(),
                                              .y = y.data(),
                                              .rows = 20,
                                              .cols = 256,
                                              .out = 304},
                                  .shape = {2, 1}});
  stream.wait();
  std::vector<double> wanted = product(x, w);
  for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] += bias.values[i % 304];
  expect_near(to_floats(y, wanted.size(), Then::store), wanted);
}

}  // namespace
}  // namespace kvasir::ops::cuda
