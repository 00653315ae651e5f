#include "sample/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "sample/rng.h"

namespace kvasir::sample {
namespace {

using Params = wire::SamplingParams;

const std::vector<float> kLogits{2.0f, 1.0f, 0.0f, -1.0f, 1.5f, -3.0f};

TokenId pick(const Params& params, const std::vector<float>& logits = kLogits,
             std::vector<TokenId> known = {0}, int num_prompt = 1) {
  Sampler sampler(int(logits.size()));
  return sampler.sample(logits, {params, known, num_prompt, {}}).value().id;
}

std::vector<double> frequencies(Params params, const std::vector<float>& logits = kLogits,
                                int draws = 20000) {
  Sampler sampler(int(logits.size()));
  std::vector<double> share(logits.size());
  std::vector<TokenId> known{0};
  for (int i = 0; i < draws; ++i) {
    params.seed = i;
    share[sampler.sample(logits, {params, known, 1, {}}).value().id] += 1.0 / draws;
  }
  return share;
}

TEST(Sampler, TopPOfZeroKeepsTheLikeliest) {
  for (const int seed : {1, 2, 3}) EXPECT_EQ(pick({.top_p = 0, .seed = static_cast<std::uint64_t>(seed)}), 0);
  const std::vector<float> flat(1000, 0.1f);
  EXPECT_EQ(pick({.top_p = 0}, flat), 0);
}

std::vector<double> probabilities(const std::vector<float>& logits, double temperature = 1) {
  std::vector<double> p;
  for (const float x : logits) p.push_back(std::exp(x / temperature));
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& x : p) x /= sum;
  return p;
}

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected) {
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 0.015) << "token " << i;
}

TEST(Sampler, OnlyAllowedTokensAreDrawn) {
  Sampler sampler(70);
  std::vector<float> logits(70, 0.0f);
  logits[3] = 9;
  const std::vector<TokenId> known{0};
  const std::vector<std::uint32_t> two_bits{1U << 20, 1U << 1};
  for (int seed = 0; seed < 50; ++seed) {
    Params params{.seed = static_cast<std::uint64_t>(seed)};
    const TokenId drawn = sampler.sample(logits, {params, known, 1, {}, two_bits}).value().id;
    EXPECT_TRUE(drawn == 20 || drawn == 33) << drawn;
    params.temperature = 0;
    EXPECT_EQ(sampler.sample(logits, {params, known, 1, {}, two_bits}).value().id, 20);
  }
  // Ids beyond the last word are not allowed. If no bit is set, no token is allowed.
  const std::vector<std::uint32_t> short_mask{1U << 5};
  EXPECT_EQ(sampler.sample(logits, {Params{}, known, 1, {}, short_mask}).value().id, 5);
  const std::vector<std::uint32_t> none{0};
  EXPECT_FALSE(sampler.sample(logits, {Params{}, known, 1, {}, none}).ok());
  // A bias cannot make a token allowed.
  Params biased{.temperature = 0};
  biased.logit_bias = {{3, 100.0f}};
  EXPECT_EQ(sampler.sample(logits, {biased, known, 1, {}, two_bits}).value().id, 20);
}

TEST(Sampler, GreedyTakesTheFirstOfTheLargest) {
  EXPECT_EQ(pick({.temperature = 0}), 0);
  EXPECT_EQ(pick({.temperature = 0}, {1, 3, 3, 2}), 1);
  std::vector<float> wide(152064, -1.0f);
  wide[151999] = 5;
  EXPECT_EQ(pick({.temperature = 0}, wide), 151999);
}

TEST(Sampler, DrawsFromTheDistribution) {
  expect_near(frequencies({}), probabilities(kLogits));
  expect_near(frequencies({.temperature = 0.5f}), probabilities(kLogits, 0.5));
  expect_near(frequencies({.temperature = 2.0f}), probabilities(kLogits, 2));
}

TEST(Sampler, DrawsFromAllBlocksOfALargeVocabulary) {
  std::vector<float> logits(5000, -INFINITY);
  for (const int id : {0, 1023, 1024, 2048, 4999}) logits[id] = 1;
  const std::vector<double> share = frequencies({}, logits);
  for (const int id : {0, 1023, 1024, 2048, 4999}) EXPECT_NEAR(share[id], 0.2, 0.015);
}

TEST(Sampler, CutsByCountMassAndRatio) {
  const std::vector<double> p = probabilities(kLogits);
  const double top2 = p[0] + p[4];
  const std::vector<double> two{p[0] / top2, 0, 0, 0, p[4] / top2, 0};
  expect_near(frequencies({.top_k = 2}), two);
  EXPECT_EQ(frequencies({.top_k = 2})[1], 0);
  // The second token crosses the limit and is kept.
  expect_near(frequencies({.top_p = float(p[0] + 0.01)}), two);
  EXPECT_EQ(frequencies({.top_p = float(p[0] + 0.01)})[1], 0);
  expect_near(frequencies({.min_p = 0.5f}), two);
  EXPECT_EQ(frequencies({.min_p = 0.5f})[1], 0);
  // Top-p applies to the tokens that top-k left: half of two tokens is the first one alone.
  EXPECT_NEAR(frequencies({.top_p = 0.5f, .top_k = 2})[0], 1, 1e-9);
  EXPECT_NEAR(frequencies({.top_p = 0.0f})[0], 1, 1e-9);
  EXPECT_NEAR(frequencies({.top_k = 1})[0], 1, 1e-9);
  expect_near(frequencies({.top_k = 100, .min_p = 0.0f}), p);
}

TEST(Sampler, SelectsLikeAFullSort) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 1.5f);
  for (int round = 0; round < 60; ++round) {
    std::vector<float> logits(3000);
    for (float& x : logits) x = normal(random);
    Params params{
        .top_p = 0.2f + 0.1f * float(round % 8), .top_k = round % 3 == 0 ? 0 : round * 7, .seed = 1};
    std::vector<int> order(logits.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, [&](int a, int b) { return logits[a] > logits[b]; });
    const std::vector<double> p = probabilities(logits);
    if (params.top_k > 0) order.resize(params.top_k);
    double mass = 0, sum = 0;
    for (const int id : order) mass += p[id];
    std::size_t kept = 0;
    while (kept < order.size() && sum < params.top_p * mass * 0.999999) sum += p[order[kept++]];
    std::vector<bool> allowed(logits.size());
    for (std::size_t i = 0; i < std::min(kept + 1, order.size()); ++i) allowed[order[i]] = true;
    for (int seed = 0; seed < 50; ++seed) {
      params.seed = seed;
      ASSERT_TRUE(allowed[pick(params, logits)]) << "round " << round;
    }
  }
}

// Every device draws by this rule, so that a seed gives the same tokens on each: the tokens that top-k and
// top-p leave are ordered by weight, and those of equal weight by id.
TEST(Sampler, WhatACutLeavesIsDrawnFromTheHeaviestOn) {
  std::mt19937 random(6);
  std::normal_distribution<float> normal(0, 1.5f);
  std::vector<float> logits(3000);
  for (float& x : logits) x = std::round(normal(random) * 8) / 8;  // many are equal
  std::vector<int> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int a, int b) { return logits[a] > logits[b]; });
  order.resize(200);
  const std::vector<double> p = probabilities(logits);
  double mass = 0;
  for (const int id : order) mass += p[id];
  int num_compared = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    double left = Rng(seed).uniform(0) * mass;
    std::size_t i = 0;
    while (i + 1 < order.size() && left >= p[order[i]]) left -= p[order[i++]];
    if (left < 1e-6 * mass || left > p[order[i]] - 1e-6 * mass) continue;  // too close to decide
    EXPECT_EQ(pick({.top_k = 200, .seed = seed}, logits), order[i]) << "seed " << seed;
    ++num_compared;
  }
  EXPECT_GT(num_compared, 150);
}

TEST(Sampler, PenaltiesCountTokens) {
  // With the frequency penalty, token 0 falls below token 4 after one more use.
  Params params{.temperature = 0, .frequency_penalty = 0.3f};
  EXPECT_EQ(pick(params, kLogits, {3, 0}, 1), 0);
  EXPECT_EQ(pick(params, kLogits, {3, 0, 0}, 1), 4);
  // Tokens of the prompt do not count for these two penalties.
  EXPECT_EQ(pick(params, kLogits, {0, 0, 0}, 3), 0);
  EXPECT_EQ(pick({.temperature = 0, .presence_penalty = 0.6f}, kLogits, {3, 0}, 1), 4);
  EXPECT_EQ(pick({.temperature = 0, .presence_penalty = 0.4f}, kLogits, {3, 0, 0, 0}, 1), 0);
  // The repetition penalty counts the prompt, and makes negative logits more negative.
  EXPECT_EQ(pick({.temperature = 0, .repetition_penalty = 1.5f}, kLogits, {0}, 1), 4);
  EXPECT_EQ(pick({.temperature = 0, .repetition_penalty = 1.5f}, {-1.0f, -1.2f}, {0}, 1), 1);
}

TEST(Sampler, ScratchDoesNotLeakBetweenCalls) {
  Sampler sampler(int(kLogits.size()));
  const Params penalized{
      .temperature = 0, .presence_penalty = 2, .frequency_penalty = 2, .repetition_penalty = 2};
  const std::vector<TokenId> known{0, 1, 0, 0};
  EXPECT_EQ(sampler.sample(kLogits, {penalized, known, 1, {}}).value().id, 4);
  EXPECT_EQ(sampler.sample(kLogits, {penalized, std::span(known).first(0), 0, {}}).value().id, 0);
}

TEST(Sampler, BiasAndForbiddenTokens) {
  EXPECT_EQ(pick({.temperature = 0, .logit_bias = {{5, 100.0f}}}), 5);
  EXPECT_EQ(pick({.temperature = 0, .logit_bias = {{0, -100.0f}, {999, 100.0f}, {-1, 100.0f}}}), 4);
  Sampler sampler(int(kLogits.size()));
  const std::vector<TokenId> known{0}, forbidden{0, 4, 77};
  EXPECT_EQ(sampler.sample(kLogits, {{.temperature = 0}, known, 1, forbidden}).value().id, 1);
  for (int seed = 0; seed < 200; ++seed) {
    const Params params{.temperature = 5, .seed = std::uint64_t(seed)};
    const TokenId id = sampler.sample(kLogits, {params, known, 1, forbidden}).value().id;
    ASSERT_TRUE(id != 0 && id != 4);
  }
}

TEST(Sampler, LogprobsAreThoseOfTheModel) {
  Sampler sampler(int(kLogits.size()));
  const std::vector<TokenId> known{0};
  const Params params{.temperature = 0, .logit_bias = {{2, 50.0f}}, .logprobs = true, .num_top_logprobs = 3};
  const wire::Token token = sampler.sample(kLogits, {params, known, 1, {}}).value();
  EXPECT_EQ(token.id, 2);
  const std::vector<double> p = probabilities(kLogits);
  EXPECT_NEAR(token.logprob->logprob, std::log(p[2]), 1e-5);
  ASSERT_EQ(token.logprob->top.size(), 3u);
  const int best[] = {0, 4, 1};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(token.logprob->top[i].first, best[i]);
    EXPECT_NEAR(token.logprob->top[i].second, std::log(p[best[i]]), 1e-5);
  }
}

TEST(Sampler, RefusesWhatIsNotANumber) {
  Sampler sampler(40);
  const std::vector<TokenId> known{0};
  for (const float bad : {NAN, INFINITY}) {
    for (const int at : {0, 17, 39}) {
      for (const float temperature : {0.0f, 1.0f}) {
        std::vector<float> logits(40, 0.5f);
        logits[at] = bad;
        EXPECT_FALSE(sampler.sample(logits, {{.temperature = temperature}, known, 1, {}}).ok());
      }
    }
  }
  EXPECT_FALSE(sampler.sample(std::vector<float>(40, -INFINITY), {{}, known, 1, {}}).ok());
  std::vector<float> one(40, -INFINITY);
  one[33] = -1e30f;
  for (const Params& params : {Params{}, Params{.temperature = 0}, Params{.top_p = 0.9f}, Params{.top_k = 5}})
    EXPECT_EQ(sampler.sample(one, {params, known, 1, {}}).value().id, 33);
  const Params absurd{.temperature = 1e-30f, .logprobs = true, .num_top_logprobs = 1000};
  EXPECT_EQ(sampler.sample(one, {absurd, known, 1, {}}).value().logprob->top.size(), 40u);
}

TEST(Sampler, DependsOnSeedAndPositionOnly) {
  std::vector<TokenId> known{0, 1, 2};
  const Params params{.seed = 42};
  const TokenId once = pick(params, kLogits, known, 1);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(pick(params, kLogits, known, 1), once);
  std::map<TokenId, int> seen;
  for (int i = 0; i < 50; ++i) {
    known.push_back(0);
    ++seen[pick(params, kLogits, known, 1)];
  }
  EXPECT_GT(seen.size(), 2u);
}

TEST(Softmax, MatchesTheStandardLibrary) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> wide(-90, 0);
  for (const int n : {1, 15, 16, 17, 1023, 1024, 1025, 4000}) {
    std::vector<float> logits(n);
    for (float& x : logits) x = wide(random);
    logits[n / 2] = 0;
    Softmax out;
    softmax(logits, largest(logits).value, 1.0f, out);
    double total = 0;
    for (int i = 0; i < n; ++i) {
      const double exact = std::exp(double(logits[i]));
      EXPECT_NEAR(out.weights[i], exact, exact * 1e-6 + 1e-36);
      total += exact;
    }
    EXPECT_NEAR(out.total, total, total * 1e-6);
    EXPECT_NEAR(log_sum_exp(logits, largest(logits).value), std::log(total), 1e-6);
  }
}

TEST(Rng, IsUniform) {
  constexpr int kBins = 64, kDraws = 64000;
  for (const auto by_seed : {true, false}) {
    std::vector<int> bins(kBins);
    for (int i = 0; i < kDraws; ++i) ++bins[int((by_seed ? Rng(i).uniform(0) : Rng(7).uniform(i)) * kBins)];
    double chi2 = 0;
    for (const int n : bins) chi2 += std::pow(n - kDraws / kBins, 2) / (kDraws / kBins);
    // With 63 degrees of freedom, good generators are above 103.4 in 0.1 % of cases.
    EXPECT_LT(chi2, 103.4);
  }
}

}  // namespace
}  // namespace kvasir::sample
