#include "ops/quant/dequantize.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "base/tests_dir_test.h"

namespace kvasir::ops {
namespace {

using tensor::DType;

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Dequantize, EveryTypeEqualsTheReferenceBitForBit) {
  for (int t = 1; t < tensor::kNumDTypes; ++t) {
    const auto type = static_cast<DType>(t);
    const tensor::DTypeInfo& info = tensor::info(type);
    SCOPED_TRACE(info.name);
    const std::string golden =
        read_file(std::string(base::kTestsDir) + "/golden/quants/" + std::string(info.name) + ".bin");
    const std::size_t one =
        static_cast<std::size_t>(info.block_bytes) + 4 * static_cast<std::size_t>(info.block_elems);
    ASSERT_GT(golden.size(), 0u);
    ASSERT_EQ(golden.size() % one, 0u);
    const std::size_t num_blocks = golden.size() / one;
    std::vector<float> expected(num_blocks * static_cast<std::size_t>(info.block_elems));
    const std::size_t block_bytes = num_blocks * static_cast<std::size_t>(info.block_bytes);
    std::memcpy(expected.data(), golden.data() + block_bytes, expected.size() * 4);
    // The blocks are at an odd address, since nothing may rely on alignment.
    std::vector<std::byte> blocks(block_bytes + 1);
    std::memcpy(blocks.data() + 1, golden.data(), block_bytes);
    std::vector<float> numbers(expected.size());
    dequantize(type, blocks.data() + 1, numbers);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(numbers[i]), std::bit_cast<std::uint32_t>(expected[i]))
          << i << ": " << numbers[i] << " is not " << expected[i];
    }
  }
}

TEST(Dequantize, EveryHalfSurvivesTheRoundTrip) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = f16_to_f32(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(value))));
    } else {
      ASSERT_EQ(f32_to_f16(value), half) << value;
    }
    const float wide = bf16_to_f32(half);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(wide))));
    } else {
      ASSERT_EQ(f32_to_bf16(wide), half) << wide;
    }
  }
}

TEST(Dequantize, HalvesRoundToNearestEven) {
  for (int bits = 0; bits < 0x7bff; ++bits) {
    const float low = f16_to_f32(static_cast<std::uint16_t>(bits));
    const float high = f16_to_f32(static_cast<std::uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;  // exact in f32
    ASSERT_EQ(f32_to_f16(middle), bits + bits % 2) << low;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, low)), bits) << low;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, high)), bits + 1) << low;
  }
  EXPECT_EQ(f32_to_f16(65519.99f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(-std::numeric_limits<float>::infinity()), 0xfc00);
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3f808000u)), 0x3f80);
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3f818000u)), 0x3f82);
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3f808001u)), 0x3f81);
}

}  // namespace
}  // namespace kvasir::ops
