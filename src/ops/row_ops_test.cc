#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>
#include <random>
#include <utility>
#include <vector>

#include "ops/elementwise.h"
#include "ops/embed.h"
#include "ops/layer_norm.h"
#include "ops/random_tensor_test.h"
#include "ops/rms_norm.h"
#include "ops/rope.h"

namespace kvasir::ops {
namespace {

TEST(RmsNorm, EqualsItsFormulaOnEveryInstructionSet) {
  std::mt19937 random(1);
  ComputePool pool(3);
  for (std::size_t dim : {1u, 15u, 16u, 37u, 576u, 5000u}) {
    const std::vector<float> x = random_floats(dim * 9, random);
    const std::vector<float> weight = random_floats(dim, random);
    std::vector<float> oracle;
    for (Isa isa : supported_isas()) {
      SCOPED_TRACE(name(isa));
      Context context(pool, isa);
      std::vector<float> y(x.size());
      rms_norm(context, x, weight, 1e-5f, y);
      if (isa == Isa::scalar) oracle = y;
      EXPECT_EQ(std::memcmp(y.data(), oracle.data(), y.size() * sizeof(float)), 0);
      for (std::size_t r = 0; r < 9; ++r) {
        double squares = 0;
        for (std::size_t i = 0; i < dim; ++i) squares += std::pow(static_cast<double>(x[r * dim + i]), 2);
        const double factor = 1 / std::sqrt(squares / static_cast<double>(dim) + 1e-5f);
        for (std::size_t i = 0; i < dim; ++i) {
          const double expected = x[r * dim + i] * factor * weight[i];
          ASSERT_NEAR(y[r * dim + i], expected, 1e-6 + 1e-6 * std::fabs(expected));
        }
      }
    }
  }
}

TEST(Elementwise, EqualsItsFormulaOnEveryInstructionSet) {
  std::mt19937 random(2);
  ComputePool pool(3);
  for (std::size_t n : {1u, 16u, 45u, 100000u}) {
    std::vector<float> gate = random_floats(n, random, 8);
    gate[0] = -200;  // exp(200) would overflow
    if (n > 1) gate[1] = 200;
    const std::vector<float> up = random_floats(n, random);
    std::vector<float> oracle;
    for (Isa isa : supported_isas()) {
      SCOPED_TRACE(name(isa));
      Context context(pool, isa);
      std::vector<float> y = gate;
      activate(context, Activation::silu, y, up, y);
      if (isa == Isa::scalar) oracle = y;
      EXPECT_EQ(std::memcmp(y.data(), oracle.data(), n * sizeof(float)), 0);
      for (std::size_t i = 0; i < n; ++i) {
        const double expected = gate[i] / (1 + std::exp(-static_cast<double>(gate[i]))) * up[i];
        ASSERT_NEAR(y[i], expected, 1e-6 * std::fabs(expected) + 1e-30) << gate[i];
      }
      std::vector<float> sum = gate;
      add(context, up, sum);
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(sum[i], gate[i] + up[i]);
    }
  }
}

double gelu_tanh(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

double gelu(double x) {
  return x / 2 * std::erfc(-x / std::numbers::sqrt2);
}

TEST(Elementwise, GeluEqualsItsFormulasOnEveryInstructionSet) {
  std::mt19937 random(5);
  ComputePool pool(2);
  std::vector<float> gate = random_floats(4003, random, 6);
  gate[0] = -100;
  gate[1] = 100;
  gate[2] = 0;
  const std::vector<float> up = random_floats(gate.size(), random);
  const std::pair<Activation, double (*)(double)> activations[] = {{Activation::gelu_tanh, gelu_tanh},
                                                                   {Activation::gelu, gelu}};
  for (const auto& [activation, formula] : activations) {
    std::vector<float> oracle;
    for (Isa isa : supported_isas()) {
      SCOPED_TRACE(name(isa));
      Context context(pool, isa);
      std::vector<float> y(gate.size());
      activate(context, activation, gate, {}, y);
      if (isa == Isa::scalar) oracle = y;
      EXPECT_EQ(std::memcmp(y.data(), oracle.data(), y.size() * sizeof(float)), 0);
      std::vector<float> gated(gate.size());
      activate(context, activation, gate, up, gated);
      for (std::size_t i = 0; i < y.size(); ++i) {
        ASSERT_NEAR(y[i], formula(gate[i]), 2e-6) << gate[i];
        ASSERT_EQ(gated[i], y[i] * up[i]);
      }
    }
  }
}

TEST(Elementwise, SoftCapEqualsItsFormulaOnEveryInstructionSet) {
  std::mt19937 random(6);
  ComputePool pool(2);
  const std::vector<float> x = random_floats(1003, random, 100);
  std::vector<float> oracle;
  for (Isa isa : supported_isas()) {
    SCOPED_TRACE(name(isa));
    Context context(pool, isa);
    std::vector<float> y = x;
    soft_cap(context, 30, y);
    if (isa == Isa::scalar) oracle = y;
    EXPECT_EQ(std::memcmp(y.data(), oracle.data(), y.size() * sizeof(float)), 0);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(y[i], 30 * std::tanh(x[i] / 30.0), 1e-5);
    scale(context, -0.5f, y);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], oracle[i] * -0.5f);
  }
}

TEST(LayerNorm, EqualsItsFormula) {
  std::mt19937 random(7);
  ComputePool pool(2);
  Context context(pool);
  for (std::size_t dim : {1u, 17u, 384u}) {
    const std::vector<float> x = random_floats(dim * 5, random, 3);
    const std::vector<float> weight = random_floats(dim, random);
    const std::vector<float> bias = random_floats(dim, random);
    std::vector<float> y = x;
    layer_norm(context, y, {weight, bias, 1e-5f}, y);
    for (std::size_t r = 0; r < 5; ++r) {
      double mean = 0;
      double variance = 0;
      for (std::size_t i = 0; i < dim; ++i) mean += x[r * dim + i] / static_cast<double>(dim);
      for (std::size_t i = 0; i < dim; ++i)
        variance += std::pow(x[r * dim + i] - mean, 2) / static_cast<double>(dim);
      for (std::size_t i = 0; i < dim; ++i) {
        const double expected = (x[r * dim + i] - mean) / std::sqrt(variance + 1e-5) * weight[i] + bias[i];
        ASSERT_NEAR(y[r * dim + i], expected, 1e-5);
      }
    }
  }
}

TEST(Embed, GathersRowsOfEveryType) {
  std::mt19937 random(3);
  ComputePool pool(2);
  Context context(pool);
  for (int t = 0; t < tensor::kNumDTypes; ++t) {
    const RandomMatrix table(static_cast<tensor::DType>(t), 50, 256, random);
    const std::vector<float> floats = table.floats();
    std::vector<TokenId> tokens = {49, 0, 7, 7, 31};
    for (int i = 0; i < 40; ++i) tokens.push_back(static_cast<TokenId>(random() % 50));
    std::vector<float> y(tokens.size() * 256);
    embed(context, table.view, tokens, y);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      EXPECT_EQ(std::memcmp(&y[i * 256], &floats[static_cast<std::size_t>(tokens[i]) * 256], 1024), 0);
    }
  }
}

TEST(Rope, RotatesPairsAndLeavesTheRest) {
  std::mt19937 random(4);
  ComputePool pool(2);
  Context context(pool);
  const std::vector<float> frequencies = {1.0f, 0.1f, 0.01f};
  const std::vector<std::int32_t> positions = {0, 3, 1000};
  const int num_heads = 2;
  const int head_dim = 8;
  for (RopeStyle style : {RopeStyle::neox, RopeStyle::interleaved}) {
    RopeTable table(style, frequencies, 1.25f);
    table.set_positions(context, positions);
    const std::vector<float> x = random_floats(3 * 2 * 8, random);
    std::vector<float> y = x;
    rope(context, table, num_heads, head_dim, y);
    for (std::size_t head = 0; head < 6; ++head) {
      const double position = positions[head / 2];
      for (std::size_t i = 0; i < 3; ++i) {
        const std::size_t a = head * 8 + (style == RopeStyle::neox ? i : 2 * i);
        const std::size_t b = style == RopeStyle::neox ? a + 3 : a + 1;
        const double angle = position * frequencies[i];
        EXPECT_NEAR(y[a], 1.25 * (x[a] * std::cos(angle) - x[b] * std::sin(angle)), 1e-4);
        EXPECT_NEAR(y[b], 1.25 * (x[b] * std::cos(angle) + x[a] * std::sin(angle)), 1e-4);
      }
      EXPECT_EQ(y[head * 8 + 6], x[head * 8 + 6]);
      EXPECT_EQ(y[head * 8 + 7], x[head * 8 + 7]);
    }
  }
}

}  // namespace
}  // namespace kvasir::ops
