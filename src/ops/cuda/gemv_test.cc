#include "ops/cuda/gemv.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "ops/cuda/device.h"
#include "ops/cuda/device_matrix_test.h"
#include "ops/cuda/gemm.h"

namespace kvasir::ops::cuda {
namespace {

using Then = GemvArgs::Then;

TEST(Gemv, MultipliesAsDoublesDo) {
  for (const bool quantized : {false, true}) {
    for (const int cols : {256, 2064, 4096, 14336}) {
      ASSERT_TRUE(gemv_takes(cols));
      const Matrix x(1, cols, 1);
      Matrix w(602, cols, 2);
      if (quantized) w.quantize();
      for (const Then then : {Then::store, Then::store_f32, Then::gate, Then::add}) {
        SCOPED_TRACE(testing::Message()
                     << "fp8 " << quantized << " cols " << cols << " then " << static_cast<int>(then));
        const DeviceBuffer y = allocate(602 * 4);
        const Stream stream;
        fill_zero(stream.handle(), y.data(), y.size());
        gemv(stream.handle(), {.then = then,
                               .cols = cols,
                               .out = 602,
                               .x = x.device.data(),
                               .w = w.device.data(),
                               .w_scales = quantized ? w.scales.as<const float>() : nullptr,
                               .y = y.data(),
                               .scale = then == Then::add ? 0.5f : 1});
        stream.wait();
        const std::vector<double> wanted = ended(product(x, w), 1, then);
        expect_near(to_floats(y, wanted.size(), then), wanted);
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
