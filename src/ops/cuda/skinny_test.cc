#include "ops/cuda/skinny.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "ops/cuda/device.h"
#include "ops/cuda/device_matrix_test.h"
#include "ops/cuda/int4.h"
#include "ops/random_tensor_test.h"

namespace kvasir::ops::cuda {
namespace {

using Then = GemvArgs::Then;

// A matrix of random blocks of a file's type, packed on the host.
struct Packed {
  Packed(tensor::DType type, int r, int c) : rows(r), cols(c) {
    std::mt19937 random(5);
    const RandomMatrix matrix(type, rows, cols, random);
    values = matrix.floats();
    const std::int64_t numbers = std::int64_t{rows} * cols;
    std::vector<std::byte> host_nibbles(static_cast<std::size_t>(int4_bytes(numbers)));
    std::vector<std::byte> host_groups(static_cast<std::size_t>(int4_group_bytes(numbers)));
    for (std::int64_t row = 0; row < rows; ++row)
      pack_int4(type, matrix.bytes.data() + row * tensor::bytes_of(type, cols), cols,
                host_nibbles.data() + row * int4_bytes(cols),
                host_groups.data() + row * int4_group_bytes(cols));
    nibbles = allocate(host_nibbles.size());
    groups = allocate(host_groups.size());
    const Stream stream;
    copy_to_device(stream.handle(), nibbles.data(), host_nibbles.data(), nibbles.size());
    copy_to_device(stream.handle(), groups.data(), host_groups.data(), groups.size());
    stream.wait();
  }

  // The matrix as the device unpacks it.
  std::vector<float> unpacked() const {
    const DeviceBuffer y = allocate(values.size() * 2);
    const Stream stream;
    unpack_int4(stream.handle(),
                {static_cast<std::int64_t>(values.size()), nibbles.data(), groups.data(), y.data()});
    stream.wait();
    return to_floats(y, values.size(), Then::store);
  }

  int rows, cols;
  std::vector<float> values;
  DeviceBuffer nibbles, groups;
};

TEST(Int4, KeepsTheNumbersOfAFile) {
  for (const tensor::DType type : {tensor::DType::q4_0, tensor::DType::q4_1, tensor::DType::q4_k}) {
    SCOPED_TRACE(tensor::info(type).name);
    const Packed matrix(type, 3, 512);
    const std::vector<float> got = matrix.unpacked();
    float largest = 0;
    for (const float value : matrix.values) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], matrix.values[i], largest / 128) << i;  // step and least are rounded to bf16
  }
}

TEST(Int4, RoundsFloatsTheSameOnBothSides) {
  const Packed matrix(tensor::DType::bf16, 3, 512);
  const std::vector<float> got = matrix.unpacked();
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], matrix.values[i], 0.02) << i;
  std::vector<std::uint16_t> bits;
  for (const float value : matrix.values) bits.push_back(f32_to_bf16(value));
  const DeviceBuffer x = allocate(bits.size() * 2);
  Packed other(tensor::DType::q4_0, 3, 512);
  const Stream stream;
  copy_to_device(stream.handle(), x.data(), bits.data(), x.size());
  round_to_int4(stream.handle(), {static_cast<std::int64_t>(bits.size()), x.data(), other.nibbles.data(),
                                  other.groups.data()});
  stream.wait();
  EXPECT_EQ(other.unpacked(), got);
}

class SkinnyProducts : public testing::TestWithParam<Then> {
 protected:
  std::vector<float> run(SkinnyArgs args) {
    args.then = GetParam();
    args.scale = 0.5f;
    const int out = args.then == Then::gate ? args.out / 2 : args.out;
    const auto count = static_cast<std::size_t>(args.rows) * static_cast<std::size_t>(out);
    const DeviceBuffer y = allocate(count * 4);
    fill_zero(stream_.handle(), y.data(), y.size());
    args.y = y.data();
    skinny(stream_.handle(), args);
    stream_.wait();
    return to_floats(y, count, args.then);
  }

  Stream stream_;
};

TEST_P(SkinnyProducts, TakeFourBits) {
  for (const int cols : {256, 768, 4096}) {
    const Packed w(tensor::DType::q4_k, 604, cols);
    Matrix exact(604, w.cols, 2);
    exact.values = w.unpacked();
    for (const int rows : {1, 17, 64}) {
      SCOPED_TRACE(testing::Message() << "cols " << w.cols << " rows " << rows);
      const Matrix x(rows, w.cols, 1);
      expect_near(run({.rows = rows,
                       .cols = w.cols,
                       .out = 604,
                       .x = x.device.data(),
                       .w = w.nibbles.data(),
                       .groups = w.groups.data()}),
                  ended(product(x, exact), rows, GetParam()));
    }
  }
}

TEST_P(SkinnyProducts, ARowIsTheSameAmongOthers) {
  const Matrix x(64, 4096, 1);
  const Packed w(tensor::DType::q4_k, 604, 4096);
  SkinnyArgs args{.rows = 1,
                  .cols = 4096,
                  .out = 604,
                  .x = x.device.data(),
                  .w = w.nibbles.data(),
                  .groups = w.groups.data()};
  const std::vector<float> alone = run(args);
  for (const int rows : {7, 20, 64}) {
    args.rows = rows;
    std::vector<float> among = run(args);
    among.resize(alone.size());
    EXPECT_EQ(among, alone) << rows;
  }
}

INSTANTIATE_TEST_SUITE_P(Ends, SkinnyProducts,
                         testing::Values(Then::store, Then::store_f32, Then::add, Then::gate));

}  // namespace
}  // namespace kvasir::ops::cuda
