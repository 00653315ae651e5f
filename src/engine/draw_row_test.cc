// Devices draw by the code of ops/draw, the CPU by sample::Sampler: both must give the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "ops/draw/host_team.h"
#include "sample/rng.h"
#include "sample/sampler.h"

namespace kvasir::engine {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> random_row(std::size_t cols, float deviation, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> row(cols);
  for (float& x : row) x = normal(random);
  return row;
}

struct Drawn {
  ops::RowDrawn drawn;
  std::vector<ops::TopToken> top;
};

// Draws one row. The histories are kept from call to call.
class OneRow {
 public:
  explicit OneRow(int cols)
      : cols_(cols), counts_(static_cast<std::size_t>(2 * ops::count_words(cols)), ~0u) {}

  std::vector<std::int32_t> counted;
  std::vector<ops::TokenBias> biases;
  std::vector<std::uint32_t> mask;

  Drawn draw(std::vector<float> logits, ops::RowDraw draw) {
    draw.num_counted = static_cast<std::int32_t>(counted.size());
    draw.num_biases = static_cast<std::int32_t>(biases.size());
    if (!mask.empty()) draw.mask = 0;
    Drawn result;
    result.top.resize(ops::kMaxTopTokens);
    ops::draw_rows_on_host(
        1, {.cols = cols_,
            .logits = logits.data(),
            .draws = &draw,
            .lists = {counted.data(), biases.data(), mask.data(), static_cast<int>(mask.size())},
            .counts = counts_.data(),
            .drawn = &result.drawn,
            .top = result.top.data()});
    result.top.resize(static_cast<std::size_t>(std::clamp(draw.num_top, 0, cols_)));
    return result;
  }

 private:
  const int cols_;
  std::vector<std::uint32_t> counts_;
};

ops::RowDraw as_draw(const wire::SamplingParams& p, std::size_t num_output) {
  ops::RowDraw draw;
  draw.temperature = p.temperature;
  draw.top_p = p.top_p;
  draw.min_p = p.min_p;
  draw.top_k = p.top_k;
  draw.u = sample::Rng(p.seed).uniform(num_output);
  draw.repetition_penalty = p.repetition_penalty;
  draw.frequency_penalty = p.frequency_penalty;
  draw.presence_penalty = p.presence_penalty;
  return draw;
}

int num_differing(const std::vector<float>& row, wire::SamplingParams params, int num_draws) {
  sample::Sampler sampler(static_cast<int>(row.size()));
  OneRow one(static_cast<int>(row.size()));
  int count = 0;
  const std::vector<TokenId> known{0};
  for (int seed = 0; seed < num_draws; ++seed) {
    params.seed = static_cast<std::uint64_t>(seed);
    const TokenId wanted = sampler.sample(row, {params, known, 1, {}, {}}).value().id;
    count += one.draw(row, as_draw(params, 0)).drawn.token != wanted ? 1 : 0;
  }
  return count;
}

// Any number of tokens may be left after the cuts, with any weights.
TEST(DrawRow, ASeedGivesTheTokenThatTheCpuGives) {
  const std::vector<wire::SamplingParams> kinds = {{},
                                                   {.temperature = 0},
                                                   {.temperature = 0.7f},
                                                   {.top_k = 50},
                                                   {.temperature = 1.3f, .top_p = 0.9f, .top_k = 40},
                                                   {.temperature = 0.5f, .top_p = 0.3f},
                                                   {.temperature = 0.8f, .min_p = 0.1f},
                                                   {.temperature = 0.6f, .top_p = 0.4f, .min_p = 0.02f},
                                                   {.top_p = 0.9f, .top_k = 9000, .min_p = 1e-4f},
                                                   {.temperature = 2, .top_p = 0.95f},
                                                   {.top_k = 1},
                                                   {.top_p = 0},
                                                   {.top_p = 0.5f, .top_k = 2},
                                                   {.temperature = 1e-30f},
                                                   {.temperature = 100, .top_k = 11000}};
  std::vector<std::vector<float>> rows;
  for (const float deviation : {0.0f, 0.01f, 1.0f, 3.0f, 20.0f})
    rows.push_back(random_row(12001, deviation, 3));
  rows.push_back(random_row(12000, 1.5f, 6));
  for (float& x : rows.back()) x = std::round(x * 8) / 8;  // makes many equal
  rows.push_back(random_row(5000, 2, 7));
  std::fill(rows.back().begin() + 3, rows.back().end() - 3, -kInf);
  constexpr int kDraws = 8;
  int num_draws = 0;
  int count = 0;
  for (const std::vector<float>& row : rows)
    for (const wire::SamplingParams& kind : kinds) {
      const int differing = num_differing(row, kind, kDraws);
      EXPECT_LE(differing, 1) << "temperature " << kind.temperature << " top-p " << kind.top_p << " top-k "
                              << kind.top_k << " min-p " << kind.min_p << " of " << row.size() << ", first "
                              << row[0];
      count += differing;
      num_draws += kDraws;
    }
  EXPECT_LE(count, num_draws / 500);  // sums are made in another order, which may decide at a token's edge
}

TEST(DrawRow, DrawsFromTheDistribution) {
  const std::vector<float> row = random_row(300, 1.5f, 9);
  std::vector<double> p(row.size());
  const float temperature = 1.2f;
  for (std::size_t i = 0; i < row.size(); ++i) p[i] = std::exp(row[i] / temperature);
  std::vector<std::size_t> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](auto a, auto b) { return p[a] > p[b]; });
  for (const float top_p : {1.0f, 0.8f}) {
    double total = std::accumulate(p.begin(), p.end(), 0.0);
    std::size_t num_kept = 0;
    double kept = 0;
    while (num_kept < order.size() && kept < top_p * total) kept += p[order[num_kept++]];
    constexpr int kDraws = 20'000;
    std::vector<int> seen(row.size());
    OneRow one(300);
    for (int seed = 0; seed < kDraws; ++seed)
      ++seen[static_cast<std::size_t>(
          one.draw(row, as_draw({.temperature = temperature, .top_p = top_p, .seed = std::uint64_t(seed)}, 0))
              .drawn.token)];
    double chi2 = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const double expected = i < num_kept ? p[order[i]] / kept * kDraws : 0;
      if (i >= num_kept)
        EXPECT_EQ(seen[order[i]], 0);
      else
        chi2 += std::pow(seen[order[i]] - expected, 2) / expected;
    }
    // 0.1 % of correct draws exceed this.
    const double freedom = static_cast<double>(num_kept) - 1;
    EXPECT_LT(chi2, freedom + 3.1 * std::sqrt(2 * freedom) + 4) << num_kept << " kept";
  }
}

TEST(DrawRow, WhatIsNoNumberIsTold) {
  OneRow one(1000);
  std::vector<float> row(1000, 0.5f);
  for (const float bad : {std::nanf(""), kInf}) {
    row[777] = bad;
    for (const float temperature : {0.0f, 1.0f}) {
      EXPECT_EQ(one.draw(row, {.temperature = temperature, .num_top = 3}).drawn.largest, kInf);
      EXPECT_EQ(one.draw(row, {.temperature = temperature, .top_p = 0.5f}).drawn.largest, kInf);
    }
  }
  row.assign(1000, -kInf);
  EXPECT_EQ(one.draw(row, {.temperature = 1, .top_p = 0.5f, .num_top = 2}).drawn.largest, -kInf);
  row.assign(1000, 0.5f);
  one.mask.assign(32, 0);
  EXPECT_EQ(one.draw(row, {.temperature = 1}).drawn.largest, -kInf);
}

// Penalties, biases and masks, in each combination, with a history that grows by a token a step.
TEST(DrawRow, AdjustsAsTheCpuDoes) {
  constexpr int kCols = 3001;
  const std::vector<TokenId> prompt = {5, 17, 17, 900, 3000};
  std::mt19937 random(8);
  for (int kind = 0; kind < 32; ++kind) {
    wire::SamplingParams params{.temperature = kind % 2 == 0 ? 0.0f : 0.9f};
    if (kind & 2) params.repetition_penalty = 1.4f;
    if (kind & 4) params.frequency_penalty = 0.6f, params.presence_penalty = 0.3f;
    if (kind & 8) params.logit_bias = {{3, 4.0f}, {17, 2.5f}, {900, -100.0f}};
    params.logprobs = true;
    params.num_top_logprobs = 20;
    OneRow one(kCols);
    if (kind & 16) {
      one.mask.assign((kCols + 31) / 32 - 1, 0);  // the last word is missing
      for (std::uint32_t& word : one.mask) word = static_cast<std::uint32_t>(random()) | 1u;
    }
    for (const auto& [id, bias] : params.logit_bias) one.biases.push_back({id, bias});
    sample::Sampler sampler(kCols);
    std::vector<TokenId> known = prompt;
    one.counted.assign(prompt.begin(), prompt.end());
    for (int step = 0; step < 20; ++step) {
      const std::vector<float> row = random_row(kCols, 2, static_cast<unsigned>(100 + step % 3));
      const wire::Token wanted =
          sampler.sample(row, {params, known, static_cast<int>(prompt.size()), {}, one.mask}).value();
      ops::RowDraw draw = as_draw(params, known.size() - prompt.size());
      draw.history = kind & 6 ? 1 : -1;
      draw.clears = step == 0 ? 1 : 0;
      draw.num_prompt_counted = step == 0 ? static_cast<int>(prompt.size()) : 0;
      draw.num_top = 20;
      const Drawn got = one.draw(row, draw);
      ASSERT_EQ(got.drawn.token, wanted.id) << "kind " << kind << " step " << step;
      EXPECT_NEAR(got.drawn.logprob, wanted.logprob->logprob, 1e-4) << "kind " << kind;
      ASSERT_EQ(got.top.size(), wanted.logprob->top.size());
      for (std::size_t i = 0; i < got.top.size(); ++i) {
        EXPECT_EQ(got.top[i].token, wanted.logprob->top[i].first);
        EXPECT_NEAR(got.top[i].logprob, wanted.logprob->top[i].second, 1e-4);
      }
      known.push_back(wanted.id);
      one.counted = {wanted.id};
    }
  }
}

TEST(DrawRow, LogprobsOfAGivenToken) {
  sample::Sampler sampler(700);
  OneRow one(700);
  std::vector<float> row = random_row(700, 3, 2);
  row[10] = row[20] = row[30] = 8;  // of equal logits, the lower id comes first
  row[600] = -kInf;
  row[601] = -1e30f;
  for (const TokenId given : {0, 20, 600, 601, 699}) {
    const wire::TokenLogprob wanted = sampler.logprob(row, given, 5);
    const Drawn got = one.draw(row, {.num_top = 5, .given = given});
    EXPECT_EQ(got.drawn.token, given);
    EXPECT_NEAR(got.drawn.logprob, wanted.logprob, 1e-4 * std::max(1.0f, std::abs(wanted.logprob)));
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(got.top[i].token, wanted.top[i].first);
      EXPECT_NEAR(got.top[i].logprob, wanted.top[i].second, 1e-4);
    }
  }
  // Asks for more tokens than the vocabulary has.
  EXPECT_EQ(OneRow(4).draw({1, 2, 3, 4}, {.num_top = 20}).top.size(), 4u);
  EXPECT_EQ(OneRow(4).draw({1, 2, 3, 4}, {.num_top = 20}).top[0].token, 3);
}

// Counts stay within their half of a word.
TEST(DrawRow, CountsDoNotOverflow) {
  OneRow one(4);
  one.counted.assign(40000, 1);
  one.counted.push_back(0);
  ops::RowDraw draw{.frequency_penalty = 1, .history = 0, .clears = 1};
  EXPECT_NEAR(one.draw({0, 0, -5e4f, -5e4f}, draw).drawn.largest, -1, 1e-3);
}

}  // namespace
}  // namespace kvasir::engine
