#include "ops/cuda/int4.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.h"
#include "ops/quant/dequantize.h"
#include "ops/quant/quant_blocks.h"

namespace kvasir::ops::cuda {

using tensor::DType;

namespace {

struct Int4Group {
  float step = 0;
  float least = 0;
  std::uint8_t q[kInt4Group] = {};
};

float half(const Half& bits) {
  return f16_to_f32(bits_of(bits));
}

// Takes a group from 16 bytes whose low nibbles are its first 16 numbers.
void take_split_nibbles(const std::uint8_t* bytes, Int4Group& group) {
  for (int i = 0; i < 16; ++i) {
    group.q[i] = bytes[i] & 15;
    group.q[i + 16] = bytes[i] >> 4;
  }
}

Int4Group group_of(const BlockQ4_0& block) {
  const float d = half(block.d);
  Int4Group group{.step = d, .least = -8 * d};
  take_split_nibbles(block.qs, group);
  return group;
}

Int4Group group_of(const BlockQ4_1& block) {
  Int4Group group{.step = half(block.d), .least = half(block.m)};
  take_split_nibbles(block.qs, group);
  return group;
}

Int4Group group_of(const BlockQ4K& block, int g) {
  Int4Group group{.step = half(block.d) * static_cast<float>(scale_of_group(block.scales, g)),
                  .least = -half(block.dmin) * static_cast<float>(minimum_of_group(block.scales, g))};
  for (int i = 0; i < kInt4Group; ++i) group.q[i] = block.qs[g / 2 * 32 + i] >> (g % 2 * 4) & 15;
  return group;
}

float rounded(float x) {
  return bf16_to_f32(f32_to_bf16(x));
}

Int4Group round_group(std::span<const float> x) {
  const auto [least, most] = std::minmax_element(x.begin(), x.end());
  Int4Group group{.step = rounded((*most - *least) / 15), .least = rounded(*least)};
  if (group.step == 0) return group;
  for (int i = 0; i < kInt4Group; ++i)
    group.q[i] = static_cast<std::uint8_t>(
        std::clamp(std::nearbyint((x[static_cast<std::size_t>(i)] - group.least) / group.step), 0.0f, 15.0f));
  return group;
}

void store(const Int4Group& group, std::int64_t index, std::byte* nibbles, std::byte* groups) {
  const std::uint32_t pair = std::uint32_t{f32_to_bf16(group.step)} | std::uint32_t{f32_to_bf16(group.least)}
                                                                          << 16;
  std::memcpy(groups + index * 4, &pair, 4);
  const std::int64_t block = index / 4;
  for (int t = 0; t < 4; ++t) {
    std::uint32_t word = 0;
    for (int i = 0; i < 8; ++i) word |= std::uint32_t{group.q[8 * t + i]} << (4 * (i / 2 + i % 2 * 4));
    std::memcpy(nibbles + (block * 16 + t * 4 + index % 4) * 4, &word, 4);
  }
}

}  // namespace

bool can_be_int4(DType type) {
  return type == DType::q4_0 || type == DType::q4_1 || type == DType::q4_k || type == DType::f32 ||
         type == DType::f16 || type == DType::bf16;
}

void pack_int4(DType type, const std::byte* row, std::int64_t cols, std::byte* nibbles, std::byte* groups) {
  CHECK(can_be_int4(type) && cols % kInt4Block == 0, "{} columns of {} as int4", cols,
        tensor::info(type).name);
  const std::int64_t num_groups = cols / kInt4Group;
  thread_local std::vector<float> numbers;
  const bool is_float = type == DType::f32 || type == DType::f16 || type == DType::bf16;
  if (is_float) {
    numbers.resize(static_cast<std::size_t>(cols));
    dequantize(type, row, numbers);
  }
  for (std::int64_t g = 0; g < num_groups; ++g) {
    Int4Group group;
    if (type == DType::q4_0)
      group = group_of(reinterpret_cast<const BlockQ4_0*>(row)[g]);
    else if (type == DType::q4_1)
      group = group_of(reinterpret_cast<const BlockQ4_1*>(row)[g]);
    else if (type == DType::q4_k)
      group = group_of(reinterpret_cast<const BlockQ4K*>(row)[g / 8], static_cast<int>(g % 8));
    else
      group = round_group(std::span(numbers).subspan(static_cast<std::size_t>(g * kInt4Group), kInt4Group));
    store(group, g, nibbles, groups);
  }
}

}  // namespace kvasir::ops::cuda
