#include "ops/cuda/mixture.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "base/check.h"
#include "ops/cuda/device.h"
#include "ops/cuda/mixture_few.h"
#include "ops/experts.h"
#include "ops/quant/dequantize.h"

namespace kvasir::ops::cuda {
namespace {

template <class T>
DeviceBuffer send(const std::vector<T>& values) {
  auto buffer = DeviceBuffer::allocate(values.size() * sizeof(T));
  CHECK(buffer.ok(), "{}", buffer.error().message);
  const Stream stream;
  copy_to_device(stream.handle(), buffer->data(), values.data(), buffer->size());
  stream.wait();
  return std::move(*buffer);
}

template <class T>
std::vector<T> fetch(const DeviceBuffer& buffer) {
  std::vector<T> values(buffer.size() / sizeof(T));
  const Stream stream;
  copy_to_host(stream.handle(), values.data(), buffer.data(), buffer.size());
  stream.wait();
  return values;
}

std::vector<std::uint16_t> random_bf16(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.2f);
  std::vector<std::uint16_t> bits(count);
  for (std::uint16_t& value : bits) value = f32_to_bf16(normal(random));
  return bits;
}

TEST(CudaMixture, PicksAndSlotsAreTheCpus) {
  constexpr int kRows = 300;
  for (const RouterScore score : {RouterScore::softmax, RouterScore::sigmoid}) {
    for (const int num_experts : {8, 128}) {
      RouterArgs args{.score = score, .num_experts = num_experts, .num_used = 4, .scale = 1.5f};
      args.renormalize = num_experts == 128;
      std::mt19937 random(3);
      std::vector<float> logits(static_cast<std::size_t>(kRows * num_experts));
      for (float& logit : logits) logit = static_cast<float>(random() % 64) / 16;  // many are equal
      std::vector<float> bias(static_cast<std::size_t>(num_experts));
      for (float& value : bias) value = static_cast<float>(random() % 16) / 64;
      args.selection_bias = bias;
      ExpertPlan plan;
      route(args, logits, plan);

      const DeviceBuffer x = send(logits);
      const DeviceBuffer device_bias = send(bias);
      const DeviceBuffer experts = send(std::vector<std::int32_t>(kRows * 4));
      const DeviceBuffer weights = send(std::vector<float>(kRows * 4));
      const DeviceBuffer slots = send(std::vector<std::int32_t>(kRows * 4));
      const DeviceBuffer slot_rows = send(std::vector<std::int32_t>(kRows * 4));
      const DeviceBuffer first_slots = send(std::vector<std::int32_t>(bias.size() + 1));
      const Stream stream;
      using Weights = RouteRowsArgs::Weights;
      route_rows(stream.handle(),
                 {.score = score,
                  .rows = kRows,
                  .num_experts = num_experts,
                  .num_used = 4,
                  .scale = 1.5f,
                  .weights_are = args.renormalize ? Weights::renormalized : Weights::as_scored,
                  .logits = x.as<const float>(),
                  .selection_bias = device_bias.as<const float>(),
                  .experts = experts.as<std::int32_t>(),
                  .weights = weights.as<float>()});
      assign_slots(stream.handle(), {.num_slots = kRows * 4,
                                     .num_used = 4,
                                     .num_experts = num_experts,
                                     .experts = experts.as<const std::int32_t>(),
                                     .slots = slots.as<std::int32_t>(),
                                     .slot_rows = slot_rows.as<std::int32_t>(),
                                     .first_slots = first_slots.as<std::int32_t>()});
      stream.wait();
      EXPECT_EQ(fetch<std::int32_t>(first_slots), plan.first_slots);
      const auto got_slots = fetch<std::int32_t>(slots);
      const auto got_rows = fetch<std::int32_t>(slot_rows);
      const auto got_weights = fetch<float>(weights);
      ASSERT_EQ(fetch<std::int32_t>(experts), plan.experts);
      for (std::size_t i = 0; i < plan.experts.size(); ++i) {
        EXPECT_NEAR(got_weights[i], plan.weights[i], 1e-5);
        const auto expert = static_cast<std::size_t>(plan.experts[i]);
        EXPECT_GE(got_slots[i], plan.first_slots[expert]);
        EXPECT_LT(got_slots[i], plan.first_slots[expert + 1]);
        EXPECT_EQ(got_rows[static_cast<std::size_t>(got_slots[i])], static_cast<int>(i / 4));
      }
    }
  }
}

// Some experts have no slot, some a few, and some more than one round takes.
TEST(CudaMixture, MultipliesAsDoublesDo) {
  constexpr int kExperts = 5;
  constexpr int kCols = 200;
  struct Case {
    std::vector<std::int32_t> first;
    std::size_t out;
  };
  for (const auto& [first, out] : std::vector<Case>{{{0, 1, 1, 20, 22, 23}, 72},
                                                    {{0, 40, 41, 41, 60, 61}, 72},
                                                    {{0, 0, 120, 200, 201, 205}, 72},
                                                    {{0, 0, 150, 280, 281, 300}, 72},
                                                    {{0, 5, 400, 400, 657, 1000}, 300}}) {
    for (const auto form : {ExpertProductArgs::Form::plain, ExpertProductArgs::Form::gated}) {
      const bool gated = form == ExpertProductArgs::Form::gated;
      const int num_slots = first.back();
      const auto x = random_bf16(std::size_t{50} * kCols, 1);
      std::vector<std::vector<std::uint16_t>> matrices;
      std::vector<DeviceBuffer> buffers;
      std::vector<const void*> addresses;
      for (unsigned e = 0; e < kExperts; ++e) {
        matrices.push_back(random_bf16(std::size_t{2} * out * kCols, 10 + e));
        buffers.push_back(send(matrices.back()));
        addresses.push_back(buffers.back().data());
      }
      std::vector<std::int32_t> rows(static_cast<std::size_t>(num_slots));
      for (std::size_t s = 0; s < rows.size(); ++s) rows[s] = static_cast<std::int32_t>(s * 7 % 50);
      const DeviceBuffer device_x = send(x);
      const DeviceBuffer device_rows = send(rows);
      const DeviceBuffer device_first = send(first);
      const DeviceBuffer list = send(addresses);
      const DeviceBuffer y = send(std::vector<std::uint16_t>(rows.size() * out, 0x7fc0));  // NaN
      const Stream stream;
      multiply_experts(stream.handle(), {.form = form,
                                         .num_slots = num_slots,
                                         .num_experts = kExperts,
                                         .cols = kCols,
                                         .out = static_cast<int>(out),
                                         .first_slots = device_first.as<const std::int32_t>(),
                                         .x_rows = device_rows.as<const std::int32_t>(),
                                         .x = device_x.data(),
                                         .w = list.as<const void* const>(),
                                         .y = y.data()});
      stream.wait();
      const auto got = fetch<std::uint16_t>(y);
      double difference = 0;
      double size = 0;
      for (std::size_t s = 0, e = 0; s < rows.size(); ++s) {
        while (static_cast<std::int32_t>(s) >= first[e + 1]) ++e;
        const auto dot = [&](std::size_t row) {
          double sum = 0;
          for (std::size_t c = 0; c < kCols; ++c)
            sum += double{bf16_to_f32(x[static_cast<std::size_t>(rows[s]) * kCols + c])} *
                   bf16_to_f32(matrices[e][row * kCols + c]);
          return sum;
        };
        for (std::size_t o = 0; o < out; ++o) {
          double wanted = dot(o);
          if (gated) wanted = wanted / (1 + std::exp(-wanted)) * dot(out + o);
          difference += std::pow(bf16_to_f32(got[s * out + o]) - wanted, 2);
          size += wanted * wanted;
        }
      }
      EXPECT_LT(std::sqrt(difference / size), 5e-3) << num_slots << " slots, gated " << gated;
    }
  }
}

TEST(CudaMixture, FewRowsAreWhatDoublesMakeOfThem) {
  constexpr std::size_t kExperts = 5;
  constexpr std::size_t kRows = 2;
  constexpr std::size_t kUsed = 3;
  constexpr std::size_t kHidden = 2200;
  constexpr std::size_t kInner = 728;
  const auto x = random_bf16(kRows * kHidden, 1);
  std::vector<std::vector<std::uint16_t>> ups, downs;
  std::vector<DeviceBuffer> buffers;
  std::vector<const void*> addresses;
  for (unsigned e = 0; e < kExperts; ++e) ups.push_back(random_bf16(2 * kInner * kHidden, 10 + e));
  for (unsigned e = 0; e < kExperts; ++e) downs.push_back(random_bf16(kHidden * kInner, 20 + e));
  for (const auto* matrices : {&ups, &downs}) {
    for (const auto& matrix : *matrices) addresses.push_back(buffers.emplace_back(send(matrix)).data());
  }
  const std::vector<std::int32_t> experts{4, 0, 2, 0, 1, 3};
  const std::vector<float> weights{0.5f, 0.3f, 0.2f, 0.9f, 0.75f, 0.125f};
  std::vector<float> norm(kHidden);
  for (std::size_t i = 0; i < kHidden; ++i) norm[i] = 0.5f + static_cast<float>(i % 7) / 8;
  const DeviceBuffer list = send(addresses);
  const DeviceBuffer device_experts = send(experts);
  const DeviceBuffer device_weights = send(weights);
  const DeviceBuffer device_norm = send(norm);
  const DeviceBuffer between = send(std::vector<std::uint16_t>(kRows * kUsed * kInner));
  const DeviceBuffer y = send(x);
  const Stream stream;
  ASSERT_TRUE(few_experts_take(kUsed, kHidden, kInner));
  run_few_experts(stream.handle(), {.rows = kRows,
                                    .num_used = kUsed,
                                    .hidden = kHidden,
                                    .inner = kInner,
                                    .experts = device_experts.as<const std::int32_t>(),
                                    .weights = device_weights.as<const float>(),
                                    .x = y.data(),
                                    .rms_weight = device_norm.as<const float>(),
                                    .eps = 1e-6f,
                                    .ups = list.as<const void* const>(),
                                    .downs = list.as<const void* const>() + kExperts,
                                    .between = between.data(),
                                    .y = y.data(),
                                    .scale = 0.5f});
  stream.wait();
  const auto got = fetch<std::uint16_t>(y);
  double difference = 0;
  double size = 0;
  for (std::size_t r = 0; r < kRows; ++r) {
    const std::uint16_t* own = x.data() + r * kHidden;
    double squares = 0;
    for (std::size_t c = 0; c < kHidden; ++c) squares += std::pow(bf16_to_f32(own[c]), 2);
    std::vector<double> sums(kHidden);
    for (std::size_t u = 0; u < kUsed; ++u) {
      const auto e = static_cast<std::size_t>(experts[r * kUsed + u]);
      const auto dot = [&](std::size_t row) {
        double sum = 0;
        for (std::size_t c = 0; c < kHidden; ++c)
          sum += double{bf16_to_f32(own[c])} * norm[c] * bf16_to_f32(ups[e][row * kHidden + c]);
        return sum / std::sqrt(squares / kHidden + 1e-6);
      };
      std::vector<double> inner(kInner);
      for (std::size_t i = 0; i < kInner; ++i) {
        const double gate = dot(i);
        inner[i] = gate / (1 + std::exp(-gate)) * dot(kInner + i);
      }
      for (std::size_t o = 0; o < kHidden; ++o)
        for (std::size_t i = 0; i < kInner; ++i)
          sums[o] += double{weights[r * kUsed + u]} * inner[i] * bf16_to_f32(downs[e][o * kInner + i]);
    }
    for (std::size_t o = 0; o < kHidden; ++o) {
      const double wanted = bf16_to_f32(own[o]) + 0.5 * sums[o];
      difference += std::pow(bf16_to_f32(got[r * kHidden + o]) - wanted, 2);
      size += wanted * wanted;
    }
  }
  EXPECT_LT(std::sqrt(difference / size), 5e-3);
}

}  // namespace
}  // namespace kvasir::ops::cuda
