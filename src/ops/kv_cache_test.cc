#include "ops/kv_cache.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "ops/quant/dequantize.h"
#include "ops/random_tensor_test.h"

namespace kvasir::ops {
namespace {

constexpr int kBlocks = 3;
constexpr int kHeads = 2;
constexpr int kDim = 40;  // not a multiple of the 32 numbers that share a scale

// A KV cache of one layer.
struct Cache {
  explicit Cache(KvType type, int latent_dim = 0) {
    layer.type = type;
    layer.num_kv_heads = latent_dim > 0 ? 1 : kHeads;
    layer.head_dim = kDim;
    layer.latent_dim = latent_dim;
    const auto bytes = static_cast<std::size_t>(layer.block_bytes() * kBlocks);
    keys.resize(bytes);
    values.resize(latent_dim > 0 ? 0 : bytes);
    layer.k = keys.data();
    layer.v = latent_dim > 0 ? nullptr : values.data();
  }
  std::vector<std::byte> image(int block) const {
    std::vector<std::byte> out(static_cast<std::size_t>(layer.num_parts() * layer.block_bytes()));
    export_block(layer, block, out.data());
    return out;
  }

  KvLayer layer;
  std::vector<std::byte> keys, values;
};

void fill(std::vector<std::byte>& bytes, std::mt19937& random) {
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
}

TEST(KvCache, ABlockThatLeavesAndEntersHasTheSameBytes) {
  std::mt19937 random(3);
  for (const KvType type : {KvType::f32, KvType::f16, KvType::bf16, KvType::int8})
    for (const int latent_dim : {0, 24}) {
      SCOPED_TRACE(testing::Message() << name(type) << ", latent " << latent_dim);
      Cache from(type, latent_dim);
      fill(from.keys, random);
      fill(from.values, random);
      Cache to(type, latent_dim);
      const std::vector<std::byte> image = from.image(1);
      import_block(to.layer, 2, image.data());
      const auto bytes = static_cast<std::size_t>(from.layer.block_bytes());
      EXPECT_EQ(std::memcmp(to.keys.data() + 2 * bytes, from.keys.data() + bytes, bytes), 0);
      if (latent_dim == 0) {
        EXPECT_EQ(std::memcmp(to.values.data() + 2 * bytes, from.values.data() + bytes, bytes), 0);
      }
      EXPECT_EQ(to.image(2), image);
      for (std::size_t i = 0; i < 2 * bytes; ++i) ASSERT_EQ(to.keys[i], std::byte{0}) << "another block";
    }
}

// An exported block has the tokens' rows as they were stored, whatever the layout in the cache.
TEST(KvCache, TheCanonicalFormIsTheRowsOfEachHead) {
  std::mt19937 random(4);
  ComputePool pool(2);
  Context context(pool, Isa::scalar);
  Cache cache(KvType::f32);
  const std::vector<float> k = random_floats(std::size_t{kBlockTokens} * kHeads * kDim, random);
  const std::vector<float> v = random_floats(k.size(), random);
  const std::vector<std::int32_t> blocks = {1};
  const KvSlice slice{.num_rows = kBlockTokens, .blocks = blocks};
  store_kv(context, cache.layer, {&slice, 1}, k, v);
  const std::vector<std::byte> image = cache.image(1);
  std::vector<float> numbers(image.size() / sizeof(float));
  std::memcpy(numbers.data(), image.data(), image.size());
  ASSERT_EQ(numbers.size(), 2 * k.size());
  std::size_t at = 0;
  for (const auto* part : {&k, &v})
    for (int head = 0; head < kHeads; ++head)
      for (int token = 0; token < kBlockTokens; ++token)
        for (int d = 0; d < kDim; ++d)
          ASSERT_EQ(numbers[at++], (*part)[static_cast<std::size_t>((token * kHeads + head) * kDim + d)]);
}

TEST(KvCache, ScalesFollowTheNumbersOfTheirHead) {
  Cache cache(KvType::int8);
  ComputePool pool(1);
  Context context(pool, Isa::scalar);
  std::vector<float> k(std::size_t{kBlockTokens} * kHeads * kDim);
  for (std::size_t i = 0; i < k.size(); ++i) k[i] = static_cast<float>(1 + i / (kHeads * kDim));
  const std::vector<std::int32_t> blocks = {0};
  const KvSlice slice{.num_rows = kBlockTokens, .blocks = blocks};
  store_kv(context, cache.layer, {&slice, 1}, k, k);
  const std::vector<std::byte> image = cache.image(0);
  const int num_groups = cache.layer.num_groups();
  for (int token = 0; token < kBlockTokens; ++token)
    for (int group = 0; group < num_groups; ++group) {
      std::uint16_t scale = 0;
      std::memcpy(&scale, image.data() + kDim * kBlockTokens + (token * num_groups + group) * 2, 2);
      EXPECT_NEAR(f16_to_f32(scale), (1 + token) / 127.0, 1e-3 * (1 + token));
    }
}

}  // namespace
}  // namespace kvasir::ops
