#include "ops/cuda/attention.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "base/check.h"
#include "ops/cuda/device.h"
#include "ops/cuda/device_matrix_test.h"
#include "ops/cuda/rope.h"
#include "ops/quant/dequantize.h"

namespace kvasir::ops::cuda {
namespace {

using tensor::DType;

template <class T>
DeviceBuffer to_device(const Stream& stream, const std::vector<T>& values) {
  auto buffer = DeviceBuffer::allocate(std::max<std::size_t>(16, values.size() * sizeof(T)));
  CHECK(buffer.ok(), "{}", buffer.error().message);
  copy_to_device(stream.handle(), buffer->data(), values.data(), values.size() * sizeof(T));
  stream.wait();
  return std::move(*buffer);
}

struct Shape {
  int num_heads;
  int num_kv_heads;
  int head_dim;
  int window = 0;
  float softcap = 0;
};

// A way to compute attention.
struct Way {
  KvNumbers kv = KvNumbers::same;
  int split_tokens = kSplitTokens;
  bool plain = false;
};

// Rounds a number of bf16 towards zero.
std::uint8_t to_e4m3(std::uint16_t bits) {
  static const std::array sizes = [] {
    std::array<float, 127> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = e4m3_to_f32(static_cast<std::uint8_t>(i));
    return all;
  }();
  const float value = bf16_to_f32(bits);
  if (std::isnan(value)) return 0x7f;
  const auto above = std::upper_bound(sizes.begin(), sizes.end(), std::abs(value));
  return static_cast<std::uint8_t>(above - sizes.begin() - 1 + (std::signbit(value) ? 128 : 0));
}

struct Sequence {
  int num_computed;
  int num_rows;
};

// A step of random queries over random sequences, in bf16, compared with double arithmetic.
class Trial {
 public:
  Trial(const Shape& shape, std::vector<Sequence> sequences, Way way = {})
      : shape_(shape), way_(way), sequences_(std::move(sequences)) {
    for (const Sequence& s : sequences_) num_blocks_ += (s.num_computed + s.num_rows + 15) / 16;
    std::vector<std::int32_t> ids(static_cast<std::size_t>(num_blocks_));
    std::iota(ids.begin(), ids.end(), 0);
    std::shuffle(ids.begin(), ids.end(), random_);
    // Places without a token hold NaN: it must not reach the result.
    k_.assign(static_cast<std::size_t>(num_blocks_ * 16 * shape.num_kv_heads * shape.head_dim), 0xffff);
    v_ = k_;
    for (const Sequence& s : sequences_) add(s, ids);
    q_ = numbers(static_cast<std::size_t>(num_rows_ * shape.num_heads * shape.head_dim));
  }

  // The largest difference from the reference. The values are about 1.
  double error() {
    const Stream stream;
    const DeviceBuffer q = to_device(stream, q_);
    const DeviceBuffer k = kv_to_device(stream, k_);
    const DeviceBuffer v = kv_to_device(stream, v_);
    const DeviceBuffer out = to_device(stream, std::vector<std::uint16_t>(q_.size(), 0xffff));
    const DeviceBuffer slices = to_device(stream, slices_);
    const DeviceBuffer blocks = to_device(stream, blocks_);
    const DeviceBuffer row_slices = to_device(stream, row_slices_);
    const DeviceBuffer split_items = to_device(stream, split_items_);
    const DeviceBuffer split_blocks = to_device(stream, split_blocks_);
    const DeviceBuffer tile_items = to_device(stream, tile_items_);
    const auto num_items = static_cast<int>(split_items_.size());
    auto partials =
        DeviceBuffer::allocate(4 * partial_floats(num_items + 1, shape_.num_heads, shape_.head_dim));
    CHECK(partials.ok(), "{}", partials.error().message);
    const DeviceBuffer counters = to_device(
        stream, std::vector<std::int32_t>(static_cast<std::size_t>((num_items + 1) * shape_.num_heads)));
    auto tile_partials = DeviceBuffer::allocate(4 * kTilePartialFloats);
    CHECK(tile_partials.ok(), "{}", tile_partials.error().message);
    AttentionArgs args{.type = DType::bf16,
                       .kv = way_.kv,
                       .q = q.data(),
                       .q_stride = shape_.num_heads * shape_.head_dim,
                       .k = k.data(),
                       .num_blocks = num_blocks_,
                       .v = v.data(),
                       .out = out.data(),
                       .num_heads = shape_.num_heads,
                       .num_kv_heads = shape_.num_kv_heads,
                       .head_dim = shape_.head_dim,
                       .value_dim = shape_.head_dim,
                       .scale = scale(),
                       .softcap = shape_.softcap,
                       .sliding_window = shape_.window,
                       .partials = partials->as<float>(),
                       .counters = counters.as<std::int32_t>(),
                       .tile_partials = tile_partials->as<float>()};
    args.step = {.rows = num_rows_,
                 .row_slices = row_slices.as<const std::int32_t>(),
                 .slices = slices.as<const SliceView>(),
                 .blocks = blocks.as<const std::int32_t>(),
                 .split_items = split_items.as<const AttentionItem>(),
                 .split_blocks = split_blocks.as<const std::int32_t>(),
                 .num_split_items = num_items,
                 .split_tokens = way_.split_tokens,
                 .tile_items = tile_items.as<const AttentionItem>(),
                 .num_tile_items = static_cast<int>(tile_items_.size()),
                 .longest_tile = longest_tile_};
    if (way_.plain)
      attend_rows_plainly(stream.handle(), args);
    else
      attend(stream.handle(), args);
    std::vector<std::uint16_t> got(q_.size());
    copy_to_host(stream.handle(), got.data(), out.data(), got.size() * 2);
    stream.wait();
    return compare(got);
  }

 private:
  DeviceBuffer kv_to_device(const Stream& stream, const std::vector<std::uint16_t>& numbers) const {
    if (way_.kv == KvNumbers::same) return to_device(stream, numbers);
    std::vector<std::uint8_t> bytes;
    for (const std::uint16_t bits : numbers) bytes.push_back(to_e4m3(bits));
    return to_device(stream, bytes);
  }

  // Random numbers, rounded as the cache stores them.
  std::vector<std::uint16_t> kv_numbers(std::size_t count) {
    std::vector<std::uint16_t> values = numbers(count);
    if (way_.kv == KvNumbers::same) return values;
    for (std::uint16_t& value : values) value = f32_to_bf16(e4m3_to_f32(to_e4m3(value)));
    return values;
  }

  std::vector<std::uint16_t> numbers(std::size_t count) {
    std::normal_distribution<float> normal;
    std::vector<std::uint16_t> values(count);
    for (std::uint16_t& value : values) value = f32_to_bf16(normal(random_));
    return values;
  }

  float scale() const { return 1.0f / std::sqrt(static_cast<float>(shape_.head_dim)); }

  void add(const Sequence& s, std::vector<std::int32_t>& ids) {
    const auto index = static_cast<std::int32_t>(slices_.size());
    const auto dim = static_cast<std::size_t>(shape_.head_dim);
    slices_.push_back({num_rows_, s.num_rows, s.num_computed, static_cast<std::int32_t>(blocks_.size()),
                       static_cast<std::int32_t>(split_items_.size())});
    const auto num_blocks = static_cast<std::ptrdiff_t>((s.num_computed + s.num_rows + 15) / 16);
    const std::vector<std::int32_t> own(ids.rbegin(), ids.rbegin() + num_blocks);  // as `ids` are taken below
    if (s.num_rows == 1 && splits_rows(shape_.head_dim)) {
      const int part_blocks = way_.split_tokens / 16;
      for (int part = 0; part <= s.num_computed / way_.split_tokens; ++part) {
        split_items_.push_back({slices_.back(), part});
        for (int i = part * part_blocks; i < (part + 1) * part_blocks; ++i)
          split_blocks_.push_back(i < num_blocks ? own[static_cast<std::size_t>(i)] : 0);
      }
    } else {
      const int count = s.num_rows * shape_.num_heads / shape_.num_kv_heads;
      for (int part = 0; part * kTileRows < count; ++part) tile_items_.push_back({slices_.back(), part});
      longest_tile_ = std::max(longest_tile_, s.num_computed + s.num_rows);
    }
    for (int token = 0; token < s.num_computed + s.num_rows; ++token) {
      if (token % 16 == 0) {
        blocks_.push_back(ids.back());
        ids.pop_back();
      }
      const auto place = static_cast<std::size_t>(token % 16);
      for (int head = 0; head < shape_.num_kv_heads; ++head) {
        const std::size_t tile = head_tile(blocks_.back(), head);
        const std::vector<std::uint16_t> key = kv_numbers(dim);
        const std::vector<std::uint16_t> value = kv_numbers(dim);
        for (std::size_t d = 0; d < dim; ++d) {
          k_[tile + place * dim + d] = key[d];
          v_[tile + d * 16 + place] = value[d];
        }
      }
    }
    row_slices_.insert(row_slices_.end(), static_cast<std::size_t>(s.num_rows), index);
    num_rows_ += s.num_rows;
  }

  std::size_t head_tile(int block, int head) const {
    return static_cast<std::size_t>(block * shape_.num_kv_heads + head) * 16 *
           static_cast<std::size_t>(shape_.head_dim);
  }

  double compare(const std::vector<std::uint16_t>& got) const {
    double worst = 0;
    for (int row = 0; row < num_rows_; ++row) {
      for (int head = 0; head < shape_.num_heads; ++head) {
        const std::vector<double> wanted = reference(row, head);
        for (std::size_t d = 0; d < wanted.size(); ++d) {
          const std::size_t at = static_cast<std::size_t>(row * shape_.num_heads + head) * wanted.size() + d;
          const double error = std::abs(bf16_to_f32(got[at]) - wanted[d]);
          if (!(error <= worst)) worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
        }
      }
    }
    return worst;
  }

  std::vector<double> reference(int row, int head) const {
    const SliceView& slice = slices_[static_cast<std::size_t>(row_slices_[static_cast<std::size_t>(row)])];
    const int position = slice.num_computed + row - slice.first_row;
    const int first = shape_.window > 0 ? std::max(0, position - shape_.window + 1) : 0;
    const int kv_head = head / (shape_.num_heads / shape_.num_kv_heads);
    const auto dim = static_cast<std::size_t>(shape_.head_dim);
    std::vector<double> sum(dim);
    double total = 0;
    for (int token = first; token <= position; ++token) {
      const int block = blocks_[static_cast<std::size_t>(slice.first_block + token / 16)];
      const std::size_t tile = head_tile(block, kv_head);
      const auto place = static_cast<std::size_t>(token % 16);
      double score = 0;
      for (std::size_t d = 0; d < dim; ++d)
        score += static_cast<double>(
                     bf16_to_f32(q_[static_cast<std::size_t>(row * shape_.num_heads + head) * dim + d])) *
                 bf16_to_f32(k_[tile + place * dim + d]);
      score *= scale();
      if (shape_.softcap > 0) score = shape_.softcap * std::tanh(score / shape_.softcap);
      const double weight = std::exp(score);  // scores are small: no need to subtract the largest
      total += weight;
      for (std::size_t d = 0; d < dim; ++d) sum[d] += weight * bf16_to_f32(v_[tile + d * 16 + place]);
    }
    for (double& number : sum) number /= total;
    return sum;
  }

  const Shape shape_;
  const Way way_;
  const std::vector<Sequence> sequences_;
  std::mt19937 random_{7};
  int num_blocks_ = 0;
  int num_rows_ = 0;
  int longest_tile_ = 0;
  std::vector<std::uint16_t> q_, k_, v_;
  std::vector<SliceView> slices_;
  std::vector<std::int32_t> blocks_, row_slices_, split_blocks_;
  std::vector<AttentionItem> split_items_, tile_items_;
};

const std::vector<Sequence> kMixed = {{0, 1}, {16, 1},  {254, 1}, {255, 1},  {256, 1}, {700, 1},
                                      {0, 5}, {37, 64}, {0, 130}, {300, 17}, {5, 1},   {1030, 1}};

class Attention : public testing::TestWithParam<Shape> {};

INSTANTIATE_TEST_SUITE_P(Shapes, Attention,
                         testing::Values(Shape{8, 2, 128}, Shape{8, 8, 64}, Shape{32, 1, 64},
                                         Shape{6, 2, 256}, Shape{14, 2, 128, 100}, Shape{32, 2, 128},
                                         Shape{4, 4, 128, 0, 5}, Shape{7, 1, 64, 33, 3}));

// bf16 gives a result of about 1 an error of up to 2^-9, and the weights add as much again.
constexpr double kMaxError = 0.03;

TEST_P(Attention, IsThatOfDoubles) {
  EXPECT_LT(Trial(GetParam(), kMixed).error(), kMaxError);
  EXPECT_LT(Trial(GetParam(), kMixed, {.split_tokens = kLongSplitTokens}).error(), kMaxError);
}

TEST_P(Attention, OfEightBitsIsThatOfDoubles) {
  if (GetParam().head_dim == 256) {  // there is no kernel, so a decoder must not ask for it
    const AttentionArgs args{.kv = KvNumbers::e4m3, .v = this, .head_dim = 256, .value_dim = 256};
    EXPECT_FALSE(is_fast_attention(args));
    return;
  }
  for (const int split_tokens : {kSplitTokens, kLongSplitTokens})
    EXPECT_LT(Trial(GetParam(), kMixed, {KvNumbers::e4m3, split_tokens}).error(), kMaxError);
}

TEST_P(Attention, OfLongSlices) {
  EXPECT_LT(Trial(GetParam(), {{0, 301}, {600, 150}, {129, 40}}).error(), kMaxError);
}

TEST_P(Attention, OfFewRowsOfALongSequence) {
  EXPECT_LT(Trial(GetParam(), {{3000, 33}, {130, 5}}).error(), kMaxError);
}

TEST_P(Attention, PlainlyToo) {
  EXPECT_LT(Trial(GetParam(), kMixed, {.plain = true}).error(), kMaxError);
}

}  // namespace
}  // namespace kvasir::ops::cuda
