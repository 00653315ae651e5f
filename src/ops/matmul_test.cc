#include "ops/matmul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "ops/random_tensor_test.h"

namespace kvasir::ops {
namespace {

using tensor::DType;

std::vector<DType> all_types() {
  std::vector<DType> types;
  for (int t = 0; t < tensor::kNumDTypes; ++t) types.push_back(static_cast<DType>(t));
  return types;
}

constexpr Precision kPrecisions[] = {Precision::fast, Precision::fine, Precision::exact};

std::string label(DType type, Isa isa) {
  return std::string(tensor::info(type).name) + " on " + std::string(name(isa));
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

struct Case {
  RandomMatrix matrix;
  std::int64_t outputs;
  std::int64_t cols;
  std::size_t rows;
  std::vector<float> x;
  std::vector<float> bias;

  Case(DType type, std::int64_t outputs, std::int64_t cols, std::size_t rows, std::mt19937& random)
      : matrix(type, outputs, cols, random),
        outputs(outputs),
        cols(cols),
        rows(rows),
        x(random_floats(rows * static_cast<std::size_t>(cols), random)),
        bias(random_floats(static_cast<std::size_t>(outputs), random)) {
    std::fill_n(x.begin(), 32, 0.0f);  // a group of zeros
    if (x.size() > 64) x[40] = 300;    // and a group with an outlier
  }

  Weight weight(Precision precision) const { return Weight::prepare(matrix.view, precision).value(); }

  std::vector<float> run(Context& context, const Weight& w) const {
    std::vector<float> y(rows * static_cast<std::size_t>(outputs), NAN);
    matmul(context, x, w, bias, y);
    return y;
  }
};

// How activations are rounded: `cols` columns share a scale, and the largest number becomes `steps`.
struct Grid {
  std::size_t cols;
  double steps;
};

Grid grid_of(Activations activations) {
  if (activations == Activations::bytes) return {32, 127};
  return {256, 127 * 16};
}

// The largest error that rounding the activations may cause.
double rounding_bound(const Case& c, const std::vector<float>& w, const Grid& grid, std::size_t row,
                      std::size_t output) {
  const auto cols = static_cast<std::size_t>(c.cols);
  double bound = 0;
  for (std::size_t g = 0; g < cols; g += grid.cols) {
    float largest = 0;
    double weights = 0;
    for (std::size_t k = g; k < std::min(g + grid.cols, cols); ++k) {
      largest = std::max(largest, std::fabs(c.x[row * cols + k]));
      weights += std::fabs(w[output * cols + k]);
    }
    bound += weights * largest / (2 * grid.steps);
  }
  return bound;
}

void expect_product(const Case& c, const std::vector<float>& y, Activations activations) {
  const std::vector<float> w = c.matrix.floats();
  const auto cols = static_cast<std::size_t>(c.cols);
  const auto outputs = static_cast<std::size_t>(c.outputs);
  for (std::size_t row = 0; row < c.rows; ++row) {
    for (std::size_t n = 0; n < outputs; ++n) {
      double sum = c.bias[n];
      double size = std::fabs(sum);
      for (std::size_t k = 0; k < cols; ++k) {
        const double term = static_cast<double>(c.x[row * cols + k]) * w[n * cols + k];
        sum += term;
        size += std::fabs(term);
      }
      double tolerance = 1e-6 * size;
      if (activations != Activations::exact) tolerance += rounding_bound(c, w, grid_of(activations), row, n);
      ASSERT_NEAR(y[row * outputs + n], sum, tolerance) << "row " << row << ", output " << n;
    }
  }
}

TEST(Matmul, EqualsTheProductOfTheDequantisedWeight) {
  std::mt19937 random(1);
  ComputePool pool(2);
  for (DType type : all_types()) {
    const Case c(type, 37, 512, 27, random);
    for (Precision precision : kPrecisions) {
      const Weight w = c.weight(precision);
      for (Isa isa : supported_isas()) {
        SCOPED_TRACE(label(type, isa));
        Context context(pool, isa);
        expect_product(c, c.run(context, w), w.activations());
      }
    }
  }
}

TEST(Matmul, EveryInstructionSetComputesTheSameBits) {
  std::mt19937 random(2);
  ComputePool pool(1);
  for (DType type : all_types()) {
    const Case c(type, 53, 768, 29, random);
    for (Precision precision : kPrecisions) {
      const Weight w = c.weight(precision);
      Context scalar(pool, Isa::scalar);
      const std::vector<float> oracle = c.run(scalar, w);
      for (Isa isa : supported_isas()) {
        Context context(pool, isa);
        EXPECT_TRUE(same_bits(c.run(context, w), oracle)) << label(type, isa);
      }
    }
  }
}

// Picks rows at random from 40, in random number and order, and multiplies them on 1 to 3 threads.
TEST(Matmul, ARowDoesNotDependOnItsBatch) {
  std::mt19937 random(3);
  ComputePool pools[] = {ComputePool(1), ComputePool(2), ComputePool(3)};
  for (DType type : all_types()) {
    const Case c(type, 70, 256, 40, random);
    const Weight weights[] = {c.weight(Precision::fast), c.weight(Precision::fine)};
    for (Isa isa : supported_isas()) {
      SCOPED_TRACE(label(type, isa));
      for (const Weight& w : weights) {
        Context whole(pools[0], isa);
        const std::vector<float> expected = c.run(whole, w);
        for (std::size_t num_rows = 1; num_rows <= c.rows; ++num_rows) {
          std::vector<std::size_t> picked(c.rows);
          std::iota(picked.begin(), picked.end(), 0);
          std::shuffle(picked.begin(), picked.end(), random);
          picked.resize(num_rows);
          std::vector<float> x;
          for (std::size_t r : picked) x.insert(x.end(), &c.x[r * 256], &c.x[r * 256] + 256);
          std::vector<float> y(num_rows * 70);
          Context context(pools[num_rows % 3], isa);
          matmul(context, x, w, c.bias, y);
          for (std::size_t i = 0; i < num_rows; ++i) {
            ASSERT_TRUE(same_bits({&y[i * 70], 70}, {&expected[picked[i] * 70], 70}))
                << "row " << i << " of " << num_rows;
          }
        }
      }
    }
  }
}

// There are enough rows for several chunks of activations.
TEST(Matmul, LargeBatchesAreCutWithoutATrace) {
  std::mt19937 random(4);
  ComputePool pool(3);
  Context context(pool);
  const Case c(DType::q4_k, 64, 2048, 300, random);
  const Weight w = c.weight(Precision::fast);
  const std::vector<float> y = c.run(context, w);
  for (std::size_t row : {0u, 7u, 150u, 299u}) {
    std::vector<float> alone(64);
    matmul(context, std::span(c.x).subspan(row * 2048, 2048), w, c.bias, alone);
    EXPECT_TRUE(same_bits(alone, {&y[row * 64], 64})) << row;
  }
}

// The last group of 256 columns that share a scale is incomplete.
TEST(Matmul, OddNumbersOfGroups) {
  std::mt19937 random(9);
  ComputePool pool(2);
  for (DType type : {DType::q4_1, DType::q5_0, DType::q8_0, DType::iq4_nl}) {
    const Case c(type, 40, 9 * 32, 20, random);
    const Weight w = c.weight(Precision::fine);
    Context scalar(pool, Isa::scalar);
    const std::vector<float> oracle = c.run(scalar, w);
    expect_product(c, oracle, w.activations());
    for (Isa isa : supported_isas()) {
      Context context(pool, isa);
      EXPECT_TRUE(same_bits(c.run(context, w), oracle)) << label(type, isa);
    }
  }
}

TEST(Matmul, OddShapesOfFloats) {
  std::mt19937 random(5);
  ComputePool pool(2);
  for (DType type : {DType::f32, DType::f16, DType::bf16}) {
    for (Isa isa : supported_isas()) {
      SCOPED_TRACE(label(type, isa));
      Context context(pool, isa);
      const Case c(type, 3, 45, 5, random);
      expect_product(c, c.run(context, c.weight(Precision::fast)), Activations::exact);
    }
  }
}

TEST(Matmul, WithoutABias) {
  std::mt19937 random(6);
  ComputePool pool(2);
  Context context(pool);
  Case c(DType::q4_1, 40, 64, 3, random);
  const Weight w = c.weight(Precision::fast);
  std::fill(c.bias.begin(), c.bias.end(), 0.0f);
  std::vector<float> y(3 * 40);
  matmul(context, c.x, w, {}, y);
  EXPECT_TRUE(same_bits(y, c.run(context, w)));
}

TEST(Matmul, InfinitiesStayInTheirRow) {
  std::mt19937 random(7);
  ComputePool pool(2);
  for (Isa isa : supported_isas()) {
    Context context(pool, isa);
    Case c(DType::q8_0, 32, 64, 3, random);
    const Weight w = c.weight(Precision::fast);
    const std::vector<float> clean = c.run(context, w);
    c.x[64 + 3] = INFINITY;
    c.x[64 + 40] = NAN;
    const std::vector<float> y = c.run(context, w);
    EXPECT_TRUE(same_bits({y.data(), 32}, {clean.data(), 32}));
    EXPECT_TRUE(same_bits({&y[64], 32}, {&clean[64], 32}));
  }
}

TEST(Weight, RefusesWhatIsNoMatrix) {
  std::vector<std::byte> bytes(4096);
  EXPECT_FALSE(Weight::prepare({bytes.data(), DType::f32, {2, 2, 2}}).ok());
  EXPECT_FALSE(Weight::prepare({bytes.data(), DType::f32, {}}).ok());
  EXPECT_FALSE(Weight::prepare({bytes.data(), DType::q4_k, {2, 128}}).ok());
  EXPECT_FALSE(Weight::prepare({bytes.data(), DType::f32, {0, 8}}).ok());
  EXPECT_FALSE(Weight::prepare({nullptr, DType::f32, {2, 8}}).ok());
  EXPECT_TRUE(Weight::prepare({bytes.data(), DType::f32, {8}}).ok());
}

TEST(Weight, KeepsNothingOfTheFileWhereItIsRepacked) {
  std::mt19937 random(8);
  ComputePool pool(2);
  Context context(pool);
  Case c(DType::q6_k, 48, 256, 2, random);
  const Weight w = Weight::prepare(c.matrix.view, Precision::fast, &pool).value();
  EXPECT_FALSE(w.borrows());
  const std::vector<float> before = c.run(context, w);
  std::fill(c.matrix.bytes.begin(), c.matrix.bytes.end(), std::byte{0});
  EXPECT_TRUE(same_bits(c.run(context, w), before));
  EXPECT_TRUE(c.weight(Precision::exact).borrows());
}

}  // namespace
}  // namespace kvasir::ops
