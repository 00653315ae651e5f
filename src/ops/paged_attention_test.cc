#include "ops/paged_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "ops/quant/dequantize.h"
#include "ops/random_tensor_test.h"

namespace kvasir::ops {
namespace {

struct Shape {
  KvType type = KvType::f16;
  int num_heads = 6;
  int num_kv_heads = 2;
  int head_dim = 32;
  int sliding_window = 0;
  float softcap = 0;
};

// Rounds vectors of head_dim numbers as the cache does.
std::vector<float> stored(const Shape& shape, std::vector<float> x) {
  for (std::size_t at = 0; at < x.size(); at += static_cast<std::size_t>(shape.head_dim)) {
    for (int from = 0; from < shape.head_dim; from += kKvGroup) {
      const std::span<float> group =
          std::span(x).subspan(at + static_cast<std::size_t>(from),
                               static_cast<std::size_t>(std::min(kKvGroup, shape.head_dim - from)));
      float largest = 0;
      for (const float value : group) largest = std::max(largest, std::abs(value));
      const float scale = f16_to_f32(f32_to_f16(largest / 127));
      for (float& value : group) {
        if (shape.type == KvType::f16) value = f16_to_f32(f32_to_f16(value));
        if (shape.type == KvType::bf16) value = bf16_to_f32(f32_to_bf16(value));
        if (shape.type == KvType::int8) value = std::nearbyint(value * (1 / scale)) * scale;
      }
    }
  }
  return x;
}

// A sequence with all of its queries, keys and values, and a cache whose unused places hold NaN.
class Sequence {
 public:
  Sequence(const Shape& shape, int num_tokens, std::mt19937& random)
      : shape_(shape), num_tokens_(num_tokens) {
    const auto n = static_cast<std::size_t>(num_tokens);
    q_ = random_floats(n * q_size(), random);
    k_ = random_floats(n * kv_size(), random);
    v_ = random_floats(n * kv_size(), random);
    stored_k_ = stored(shape, k_);
    stored_v_ = stored(shape, v_);
    const int num_blocks = (num_tokens + kBlockTokens - 1) / kBlockTokens + 3;
    for (int i = 0; i < num_blocks; ++i) blocks_.push_back(i);
    std::shuffle(blocks_.begin(), blocks_.end(), random);
    KvLayer layer = {.type = shape.type, .num_kv_heads = shape.num_kv_heads, .head_dim = shape.head_dim};
    keys_.assign(static_cast<std::size_t>(num_blocks * layer.block_bytes()), std::byte{0xff});
    values_ = keys_;
  }

  std::size_t q_size() const { return static_cast<std::size_t>(shape_.num_heads * shape_.head_dim); }
  std::size_t kv_size() const { return static_cast<std::size_t>(shape_.num_kv_heads * shape_.head_dim); }
  KvLayer layer() {
    return {shape_.type, keys_.data(), values_.data(), shape_.num_kv_heads, shape_.head_dim};
  }
  std::span<const std::int32_t> blocks() const { return blocks_; }
  std::span<const float> q(int from, int n) const { return rows(q_, from, n, q_size()); }
  std::span<const float> k(int from, int n) const { return rows(k_, from, n, kv_size()); }
  std::span<const float> v(int from, int n) const { return rows(v_, from, n, kv_size()); }

  // Feeds the sequence in chunks of `chunk` tokens and returns all rows' results.
  std::vector<float> run(Context& context, int chunk) {
    std::vector<float> out(static_cast<std::size_t>(num_tokens_) * q_size(), NAN);
    for (int from = 0; from < num_tokens_; from += chunk) {
      const int n = std::min(chunk, num_tokens_ - from);
      const KvSlice slices[] = {{0, n, from, blocks_}};
      store_kv(context, layer(), slices, k(from, n), v(from, n));
      paged_attention(context, args(slices, q(from, n),
                                    std::span(out).subspan(static_cast<std::size_t>(from) * q_size(),
                                                           static_cast<std::size_t>(n) * q_size())));
    }
    return out;
  }

  AttentionArgs args(std::span<const KvSlice> slices, std::span<const float> q, std::span<float> out) {
    return {.layer = layer(),
            .slices = slices,
            .q = q,
            .out = out,
            .num_heads = shape_.num_heads,
            .scale = 0.3f,
            .sliding_window = shape_.sliding_window,
            .softcap = shape_.softcap};
  }

  // Plain attention of one row and head in double precision, on keys and values rounded as in the cache.
  std::vector<double> reference(int row, int head) const {
    const int kv_head = head / (shape_.num_heads / shape_.num_kv_heads);
    const int first = shape_.sliding_window > 0 ? std::max(0, row + 1 - shape_.sliding_window) : 0;
    std::vector<double> scores;
    for (int t = first; t <= row; ++t) {
      double dot = 0;
      for (int d = 0; d < shape_.head_dim; ++d) {
        dot += static_cast<double>(at(q_, q_size(), row, head, d)) * at(stored_k_, kv_size(), t, kv_head, d);
      }
      dot *= 0.3f;
      scores.push_back(shape_.softcap > 0 ? shape_.softcap * std::tanh(dot / shape_.softcap) : dot);
    }
    const double largest = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    std::vector<double> out(static_cast<std::size_t>(shape_.head_dim), 0);
    for (int t = first; t <= row; ++t) {
      const double p = std::exp(scores[static_cast<std::size_t>(t - first)] - largest);
      sum += p;
      for (int d = 0; d < shape_.head_dim; ++d) {
        out[static_cast<std::size_t>(d)] += p * at(stored_v_, kv_size(), t, kv_head, d);
      }
    }
    for (double& x : out) x /= sum;
    return out;
  }

  void expect_reference(const std::vector<float>& out) const {
    for (int row = 0; row < num_tokens_; row += row < 40 ? 1 : 37) {
      for (int head = 0; head < shape_.num_heads; ++head) {
        const std::vector<double> expected = reference(row, head);
        for (int d = 0; d < shape_.head_dim; ++d) {
          ASSERT_NEAR(at(out, q_size(), row, head, d), expected[static_cast<std::size_t>(d)], 2e-5)
              << "row " << row << ", head " << head << ", dimension " << d;
        }
      }
    }
  }

 private:
  static std::span<const float> rows(const std::vector<float>& x, int from, int n, std::size_t size) {
    return std::span(x).subspan(static_cast<std::size_t>(from) * size, static_cast<std::size_t>(n) * size);
  }
  float at(const std::vector<float>& x, std::size_t row_size, int row, int head, int d) const {
    return x[static_cast<std::size_t>(row) * row_size + static_cast<std::size_t>(head * shape_.head_dim + d)];
  }

  Shape shape_;
  int num_tokens_;
  std::vector<float> q_, k_, v_, stored_k_, stored_v_;
  std::vector<std::int32_t> blocks_;
  std::vector<std::byte> keys_, values_;
};

const Shape kShapes[] = {
    {KvType::f32, 4, 4, 64, 0, 0},   {KvType::f16, 6, 2, 64, 0, 0},   {KvType::bf16, 7, 1, 32, 0, 0},
    {KvType::f16, 10, 2, 20, 0, 0},  {KvType::f32, 3, 1, 9, 0, 0},    {KvType::f16, 4, 2, 16, 50, 0},
    {KvType::f32, 4, 1, 48, 270, 5}, {KvType::bf16, 2, 2, 8, 1, 3},   {KvType::int8, 6, 2, 64, 0, 0},
    {KvType::int8, 5, 1, 80, 0, 0},  {KvType::int8, 8, 1, 20, 40, 4}, {KvType::f16, 12, 1, 128, 0, 0},
    {KvType::bf16, 9, 9, 24, 0, 0},
};

TEST(PagedAttention, EqualsPlainAttention) {
  std::mt19937 random(1);
  ComputePool pool(2);
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(shape.head_dim);
    Sequence sequence(shape, 290, random);
    for (Isa isa : supported_isas()) {
      SCOPED_TRACE(name(isa));
      Context context(pool, isa);
      sequence.expect_reference(sequence.run(context, 290));
    }
  }
}

// The bits are the same for any chunks, any number of threads, and any instruction set.
TEST(PagedAttention, ARowDependsOnItsContextAlone) {
  std::mt19937 random(2);
  ComputePool pools[] = {ComputePool(1), ComputePool(2), ComputePool(4)};
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(shape.head_dim);
    Sequence sequence(shape, 290, random);
    Context whole(pools[0], Isa::scalar);
    const std::vector<float> expected = sequence.run(whole, 290);
    for (Isa isa : supported_isas()) {
      if (isa == Isa::scalar) continue;
      for (int chunk : {1, 7, 200}) {
        Context context(pools[chunk % 3], isa);
        const std::vector<float> out = sequence.run(context, chunk);
        ASSERT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(float)), 0)
            << "chunks of " << chunk << " on " << name(isa);
      }
    }
  }
}

TEST(PagedAttention, ABatchOfSlicesEqualsEachAlone) {
  std::mt19937 random(3);
  ComputePool pool(3);
  Context context(pool);
  const Shape shape;
  Sequence a(shape, 40, random);
  Sequence b(shape, 40, random);
  const std::vector<float> alone_a = a.run(context, 40);
  const std::vector<float> alone_b = b.run(context, 40);

  // Both sequences use one cache: b's blocks come after a's.
  const std::int64_t bytes = a.layer().block_bytes() * static_cast<std::int64_t>(a.blocks().size());
  std::vector<std::byte> keys(static_cast<std::size_t>(2 * bytes), std::byte{0xff});
  std::vector<std::byte> values = keys;
  KvLayer layer = a.layer();
  layer.k = keys.data();
  layer.v = values.data();
  std::vector<std::int32_t> b_blocks(b.blocks().begin(), b.blocks().end());
  for (std::int32_t& block : b_blocks) block += static_cast<std::int32_t>(a.blocks().size());
  const KvSlice first[] = {{0, 30, 0, a.blocks()}, {30, 39, 0, b_blocks}};
  const auto joined = [](std::span<const float> x, std::span<const float> y) {
    std::vector<float> both(x.begin(), x.end());
    both.insert(both.end(), y.begin(), y.end());
    return both;
  };
  store_kv(context, layer, first, joined(a.k(0, 30), b.k(0, 39)), joined(a.v(0, 30), b.v(0, 39)));
  const KvSlice second[] = {{0, 10, 30, a.blocks()}, {10, 0, 39, b_blocks}, {10, 1, 39, b_blocks}};
  store_kv(context, layer, second, joined(a.k(30, 10), b.k(39, 1)), joined(a.v(30, 10), b.v(39, 1)));
  const std::vector<float> q = joined(a.q(30, 10), b.q(39, 1));
  std::vector<float> out(q.size());
  AttentionArgs args = a.args(second, q, out);
  args.layer = layer;
  paged_attention(context, args);
  const std::size_t size = a.q_size();
  EXPECT_EQ(std::memcmp(out.data(), &alone_a[30 * size], 10 * size * sizeof(float)), 0);
  EXPECT_EQ(std::memcmp(&out[10 * size], &alone_b[39 * size], size * sizeof(float)), 0);
}

// Sequences that begin with the same blocks are computed together.
TEST(PagedAttention, RowsThatShareBlocksEqualEachAlone) {
  std::mt19937 random(8);
  ComputePool pools[] = {ComputePool(1), ComputePool(3)};
  for (const KvType type : {KvType::f16, KvType::int8}) {
    Sequence sequence({.type = type}, 600, random);
    Context alone(pools[0], Isa::scalar);
    const std::vector<float> expected = sequence.run(alone, 600);
    std::vector<KvSlice> slices;
    std::vector<float> q;
    const int positions[] = {599, 520, 598, 597, 300, 30, 31, 511, 512, 599};
    for (const int position : positions) {
      slices.push_back({static_cast<int>(slices.size()), 1, position, sequence.blocks()});
      const std::span<const float> row = sequence.q(position, 1);
      q.insert(q.end(), row.begin(), row.end());
    }
    for (Isa isa : supported_isas()) {
      Context context(pools[1], isa);
      std::vector<float> out(q.size());
      paged_attention(context, sequence.args(slices, q, out));
      for (std::size_t i = 0; i < slices.size(); ++i) {
        const std::size_t size = sequence.q_size();
        ASSERT_EQ(std::memcmp(&out[i * size], &expected[static_cast<std::size_t>(positions[i]) * size],
                              size * sizeof(float)),
                  0)
            << "position " << positions[i] << " on " << name(isa);
      }
    }
  }
}

// A later row of the same step may hold anything, even NaN.
TEST(PagedAttention, WhatARowDoesNotSeeDoesNotHarmIt) {
  std::mt19937 random(9);
  ComputePool pool(2);
  for (const KvType type : {KvType::f32, KvType::f16, KvType::int8}) {
    Sequence sequence({.type = type}, 40, random);
    Context scalar(pool, Isa::scalar);
    const std::vector<float> expected = sequence.run(scalar, 40);
    for (Isa isa : supported_isas()) {
      Context context(pool, isa);
      std::vector<float> v(sequence.v(0, 40).begin(), sequence.v(0, 40).end());
      for (std::size_t i = v.size() - sequence.kv_size(); i < v.size(); ++i) v[i] = NAN;
      const KvSlice slices[] = {{0, 40, 0, sequence.blocks()}};
      store_kv(context, sequence.layer(), slices, sequence.k(0, 40), v);
      std::vector<float> out(40 * sequence.q_size());
      paged_attention(context, sequence.args(slices, sequence.q(0, 40), out));
      EXPECT_EQ(std::memcmp(out.data(), expected.data(), 39 * sequence.q_size() * sizeof(float)), 0);
      EXPECT_TRUE(std::isnan(out.back())) << name(isa);
    }
  }
}

TEST(PagedAttention, EightBitsAreAboutHalfTheBytes) {
  const auto bytes = [](KvType type, int dim) {
    return KvLayer{.type = type, .num_kv_heads = 3, .head_dim = dim}.block_bytes();
  };
  EXPECT_EQ(bytes(KvType::f16, 64), 3 * 16 * 64 * 2);
  EXPECT_EQ(bytes(KvType::int8, 64), 3 * 16 * (64 + 2 * 2));
  EXPECT_EQ(bytes(KvType::int8, 20), 3 * 16 * (20 + 2));
  for (const KvType type : {KvType::f32, KvType::f16, KvType::bf16, KvType::int8})
    EXPECT_EQ(kv_type_named(name(type)), type);
}

// A latent layer, whose keys are its values too. Its results equal those of a layer that stores both, except
// for the order of the sums.
class LatentSequence {
 public:
  LatentSequence(KvType type, int num_heads, int num_tokens, std::mt19937& random)
      : num_heads_(num_heads),
        num_tokens_(num_tokens),
        q_(random_floats(static_cast<std::size_t>(num_tokens * num_heads * kKey), random)),
        k_(random_floats(static_cast<std::size_t>(num_tokens * kKey), random)) {
    for (int i = 0; i * kBlockTokens < num_tokens; ++i) blocks_.push_back(i);
    std::shuffle(blocks_.begin(), blocks_.end(), random);
    layer_ = {.type = type, .num_kv_heads = 1, .head_dim = kKey};
    keys_.assign(blocks_.size() * static_cast<std::size_t>(layer_.block_bytes()), std::byte{0xff});
    values_ = keys_;
    layer_.k = keys_.data();
    layer_.v = values_.data();
  }

  std::vector<float> run(Context& context, int latent_dim, int chunk) {
    KvLayer layer = layer_;
    layer.latent_dim = latent_dim;
    const int value_size = num_heads_ * layer.value_dim();
    std::vector<float> out(static_cast<std::size_t>(num_tokens_ * value_size), NAN);
    for (int from = 0; from < num_tokens_; from += chunk) {
      const int n = std::min(chunk, num_tokens_ - from);
      const KvSlice slices[] = {{0, n, from, blocks_}};
      const std::span<const float> k = part(k_, from, n, kKey);
      store_kv(context, layer, slices, k, latent_dim > 0 ? std::span<const float>() : k);
      const auto first = static_cast<std::size_t>(from * value_size);
      paged_attention(context,
                      {.layer = layer,
                       .slices = slices,
                       .q = part(q_, from, n, num_heads_ * kKey),
                       .out = std::span(out).subspan(first, static_cast<std::size_t>(n * value_size)),
                       .num_heads = num_heads_,
                       .scale = 0.2f});
    }
    return out;
  }

  static constexpr int kKey = 43;

 private:
  static std::span<const float> part(const std::vector<float>& x, int from, int n, int size) {
    return std::span(x).subspan(static_cast<std::size_t>(from * size), static_cast<std::size_t>(n * size));
  }

  int num_heads_;
  int num_tokens_;
  std::vector<float> q_, k_;
  std::vector<std::int32_t> blocks_;
  std::vector<std::byte> keys_, values_;
  KvLayer layer_;
};

TEST(PagedAttention, ALatentIsKeyAndValue) {
  constexpr int kLatent = 35;
  std::mt19937 random(6);
  ComputePool pools[] = {ComputePool(1), ComputePool(3)};
  for (const auto& [type, num_heads] :
       {std::pair(KvType::f32, 6), {KvType::f16, 17}, {KvType::bf16, 8}, {KvType::int8, 17}}) {
    LatentSequence sequence(type, num_heads, 290, random);
    Context oracle(pools[0], Isa::scalar);
    const std::vector<float> both = sequence.run(oracle, 0, 290);
    const std::vector<float> expected = sequence.run(oracle, kLatent, 290);
    for (std::size_t head = 0; head < both.size() / LatentSequence::kKey; ++head) {
      for (std::size_t d = 0; d < kLatent; ++d)
        ASSERT_NEAR(expected[head * kLatent + d], both[(head + 1) * LatentSequence::kKey - kLatent + d],
                    2e-5);
    }
    for (Isa isa : supported_isas()) {
      for (int chunk : {1, 200, 290}) {
        Context context(pools[chunk % 2], isa);
        const std::vector<float> out = sequence.run(context, kLatent, chunk);
        ASSERT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(float)), 0)
            << "chunks of " << chunk << " on " << name(isa);
      }
    }
  }
}

TEST(PagedAttention, WithoutAMaskEveryRowSeesTheWholeSequence) {
  std::mt19937 random(7);
  ComputePool pool(2);
  Context context(pool);
  Sequence sequence({.type = KvType::f32}, 30, random);
  sequence.run(context, 30);
  const KvSlice whole[] = {{0, 30, 0, sequence.blocks()}};
  std::vector<float> out(30 * sequence.q_size());
  AttentionArgs args = sequence.args(whole, sequence.q(0, 30), out);
  args.mask = Mask::none;
  paged_attention(context, args);
  for (int row : {0, 7, 29}) {
    // With one row, no mask is the same as the causal mask: this is the last row of the causal step.
    const KvSlice last[] = {{0, 1, 29, sequence.blocks()}};
    std::vector<float> expected(sequence.q_size());
    paged_attention(context, sequence.args(last, sequence.q(row, 1), expected));
    EXPECT_EQ(std::memcmp(&out[static_cast<std::size_t>(row) * expected.size()], expected.data(),
                          expected.size() * sizeof(float)),
              0);
  }
}

TEST(PagedAttention, ACopiedBlockServesAsTheOriginal) {
  std::mt19937 random(4);
  ComputePool pool(1);
  Context context(pool);
  Sequence sequence({}, 20, random);
  const std::vector<float> expected = sequence.run(context, 20);
  std::vector<std::int32_t> blocks(sequence.blocks().begin(), sequence.blocks().end());
  const std::int32_t spare = blocks.back();
  copy_block(sequence.layer(), blocks[1], spare);
  blocks[1] = spare;
  const KvSlice slices[] = {{0, 1, 19, blocks}};
  std::vector<float> out(sequence.q_size());
  paged_attention(context, sequence.args(slices, sequence.q(19, 1), out));
  EXPECT_EQ(std::memcmp(out.data(), &expected[19 * out.size()], out.size() * sizeof(float)), 0);
}

TEST(PagedAttention, ExtremeScoresStayFinite) {
  std::mt19937 random(5);
  ComputePool pool(1);
  for (Isa isa : supported_isas()) {
    Context context(pool, isa);
    Sequence sequence({.type = KvType::f32}, 300, random);
    std::vector<float> q(sequence.q(299, 1).begin(), sequence.q(299, 1).end());
    for (float& x : q) x *= 1000;
    sequence.run(context, 300);
    const KvSlice slices[] = {{0, 1, 299, sequence.blocks()}};
    std::vector<float> out(q.size());
    paged_attention(context, sequence.args(slices, q, out));
    for (float x : out) EXPECT_TRUE(std::isfinite(x));
  }
}

}  // namespace
}  // namespace kvasir::ops
