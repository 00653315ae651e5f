#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <numeric>
#include <random>

#include "base/check.h"
#include "model/cuda/random_decoder_test.h"
#include "model/decoder/sequence_runner.h"
#include "ops/cuda/device.h"
#include "ops/cuda/failure.h"
#include "ops/cuda/rows.h"

namespace kvasir::model {
namespace {

class HeadDims : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Cuda, HeadDims, testing::Values(64, 128, 256));

// Returns the logits of a prompt that is fed in chunks and then token by token. This uses tiles, splits and
// recorded graphs.
std::vector<std::vector<float>> run_sequence(const ModelConfig& config, const DeviceOptions& options) {
  const std::vector<TokenId> tokens = random_tokens(620, 1);
  const auto decoder = random_decoder(config, options);
  auto runner = SequenceRunner::create(*decoder, 640);
  CHECK(runner.ok(), "no runner");
  std::vector<std::vector<float>> rows;
  const auto feed = [&](std::size_t first, std::size_t count) {
    const auto logits = runner->feed(std::span(tokens).subspan(first, count), 1);
    rows.emplace_back(logits.begin(), logits.end());
  };
  feed(0, 240);
  for (std::size_t i = 240; i < 270; ++i) feed(i, 1);
  feed(270, 3);
  feed(273, 20);
  feed(293, 50);
  feed(343, 257);
  for (std::size_t i = 600; i < 620; ++i) feed(i, 1);
  return rows;
}

void expect_near(const std::vector<std::vector<float>>& got, const std::vector<std::vector<float>>& wanted,
                 double bound) {
  ASSERT_EQ(got.size(), wanted.size());
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = relative_error(got[i], wanted[i]);
    if (!(error <= worst)) worst = error;  // also if it is NaN
  }
  EXPECT_LT(worst, bound);
}

TEST_P(HeadDims, Bf16IsNearFloat32) {
  const ModelConfig config = dense_config(GetParam());
  const auto exact = run_sequence(config, {.type = tensor::DType::f32});
  for (const int max_own_rows : {0, 1, 64}) {
    SCOPED_TRACE(max_own_rows);
    expect_near(run_sequence(config, {.max_own_rows = max_own_rows}), exact, 0.03);
  }
}

TEST_P(HeadDims, Fp8IsNearFloat32) {
  const ModelConfig config = dense_config(GetParam());
  const auto exact = run_sequence(config, {.type = tensor::DType::f32});
  for (const int max_own_rows : {0, 1, 64}) {
    SCOPED_TRACE(max_own_rows);
    expect_near(run_sequence(config, {.max_own_rows = max_own_rows, .weights = WeightNumbers::fp8}), exact,
                0.15);
  }
  if (GetParam() == 256) {
    const auto refused = make_random_cuda_decoder(
        config, {.num_blocks = 8, .max_rows = 16, .max_sequences = 2, .fp8_kv = true});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, base::ErrorCode::unsupported);
    return;
  }
  expect_near(run_sequence(config, {.fp8_kv = true}), exact, 0.06);
}

TEST_P(HeadDims, FourBitsAreTheSameUnpackedOrNot) {
  const ModelConfig config = dense_config(GetParam());
  const auto unpacked = run_sequence(config, {.max_own_rows = 0, .weights = WeightNumbers::int4});
  expect_near(run_sequence(config, {.weights = WeightNumbers::int4}), unpacked, 0.03);
  expect_near(run_sequence(config, {.type = tensor::DType::f32}), unpacked, 0.5);
}

// Feeds five tokens, each before the host has seen it.
TEST(Cuda, TokensInFlightAreFed) {
  const auto decoder = random_decoder(dense_config(128), tensor::DType::bf16);
  const std::vector<TokenId> prompt = random_tokens(20, 7);
  const std::vector<std::int32_t> blocks[2] = {{3, 4}, {5, 6}};
  const auto batch_of = [&](int sequence, int computed, std::vector<TokenId> tokens) {
    StepBatch batch;
    batch.tokens = std::move(tokens);
    const auto rows = static_cast<int>(batch.tokens.size());
    batch.slices.push_back({0, rows, computed, blocks[sequence]});
    batch.logit_rows = {rows - 1};
    return batch;
  };
  const std::vector<RowDraw> draws = {{.temperature = 0.8f, .u = 0.4}};
  std::vector<TokenId> expected;
  std::vector<RowChoice> choice(1);
  ASSERT_TRUE(decoder->forward(batch_of(0, 0, prompt), draws, choice).ok());
  for (int i = 0; i < 5; ++i) {
    expected.push_back(choice[0].token);
    ASSERT_TRUE(decoder->forward(batch_of(0, 20 + i, {choice[0].token}), draws, choice).ok());
  }
  std::vector<TokenId> got;
  decoder->start(batch_of(1, 0, prompt));
  decoder->draw(draws);
  for (int i = 0; i < 5; ++i) {
    decoder->start(batch_of(1, 20 + i, {-1}));
    ASSERT_TRUE(decoder->collect(choice).ok());
    decoder->draw(draws);
    got.push_back(choice[0].token);
  }
  ASSERT_TRUE(decoder->collect(choice).ok());
  EXPECT_EQ(got, expected);
}

// Runs sequences of different lengths in steps that prefill, that decode, and that do both. Returns the
// largest error against the same sequences run alone.
double error_of_batches(const ModelConfig& config, const DeviceOptions& options) {
  const auto decoder = random_decoder(config, options);
  double largest = 0;
  struct Sequence {
    std::vector<TokenId> tokens;
    std::vector<std::int32_t> blocks;
    std::vector<std::vector<float>> expected;
    int computed = 0;
  };
  std::vector<Sequence> sequences(9);
  std::vector<std::int32_t> free(200);
  std::iota(free.begin(), free.end(), 50);  // the sequences that run alone use the other blocks
  std::shuffle(free.begin(), free.end(), std::mt19937(3));
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    Sequence& s = sequences[i];
    s.tokens = random_tokens(30 + 37 * static_cast<int>(i), static_cast<unsigned>(i));
    auto runner = SequenceRunner::create(*decoder, 600);
    CHECK(runner.ok(), "no runner");
    const auto rows =
        runner->feed(s.tokens, 1 + static_cast<int>(std::min<std::size_t>(30, s.tokens.size() - 1)));
    for (std::size_t at = 0; at < rows.size(); at += 1000)
      s.expected.emplace_back(rows.begin() + static_cast<std::ptrdiff_t>(at),
                              rows.begin() + static_cast<std::ptrdiff_t>(at + 1000));
    for (std::size_t n = 0; n < s.tokens.size(); n += 16) {
      s.blocks.push_back(free.back());
      free.pop_back();
    }
  }
  std::mt19937 random(4);
  for (int step = 0; step < 400; ++step) {
    StepBatch batch;
    std::vector<const std::vector<float>*> wanted;
    for (Sequence& s : sequences) {
      const int left = static_cast<int>(s.tokens.size()) - s.computed;
      // The last 20 tokens come one by one, those before them in chunks.
      const int rows = left > 20 ? std::min(left - 20, static_cast<int>(random() % 50)) : std::min(left, 1);
      if (rows == 0) continue;
      const auto first = static_cast<int>(batch.tokens.size());
      batch.slices.push_back({first, rows, s.computed, s.blocks});
      batch.tokens.insert(batch.tokens.end(), s.tokens.begin() + s.computed,
                          s.tokens.begin() + s.computed + rows);
      s.computed += rows;
      const int behind = static_cast<int>(s.tokens.size()) - s.computed;
      if (behind >= static_cast<int>(s.expected.size())) continue;
      batch.logit_rows.push_back(first + rows - 1);
      wanted.push_back(&s.expected[s.expected.size() - 1 - static_cast<std::size_t>(behind)]);
    }
    if (batch.tokens.empty()) break;
    std::vector<float> logits(wanted.size() * 1000);
    std::vector<RowChoice> choices(wanted.size());
    EXPECT_TRUE(decoder->forward(batch, std::vector<RowDraw>(wanted.size()), choices).ok());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      EXPECT_TRUE(decoder->fetch_logits(static_cast<int>(i), std::span(logits).subspan(i * 1000, 1000)).ok());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto row = std::span(logits).subspan(i * 1000, 1000);
      const double error = relative_error(row, *wanted[i]);
      if (!(error <= largest)) largest = error;  // also if it is NaN
      EXPECT_EQ(choices[i].token, argmax(row));
      EXPECT_EQ(choices[i].largest, row[static_cast<std::size_t>(choices[i].token)]);
    }
  }
  for (const Sequence& s : sequences) EXPECT_EQ(s.computed, static_cast<int>(s.tokens.size()));
  return largest;
}

TEST_P(HeadDims, ABatchIsNearItsSequencesAlone) {
  // Steps of few rows use other kernels, whose last bits differ.
  EXPECT_LT(error_of_batches(dense_config(GetParam()), {.max_own_rows = 0}), 0.03);
}

TEST_P(HeadDims, ABatchHasTheBitsOfItsSequencesAlone) {
  if (ops::cuda::architecture() != 90) {
    const auto refused = make_random_cuda_decoder(
        dense_config(GetParam()),
        {.num_blocks = 8, .max_rows = 16, .max_sequences = 2, .batch_invariant = true});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, base::ErrorCode::unsupported);
    return;
  }
  for (const WeightNumbers weights : {WeightNumbers::same, WeightNumbers::fp8, WeightNumbers::int4})
    EXPECT_EQ(error_of_batches(dense_config(GetParam()), {.weights = weights, .batch_invariant = true}), 0);
  if (GetParam() != 256) {
    EXPECT_EQ(error_of_batches(dense_config(GetParam()), {.fp8_kv = true, .batch_invariant = true}), 0);
  }
  ModelConfig sharp = dense_config(GetParam());
  sharp.attention_scale = 4;  // large scores: their rounding must not depend on later tokens
  EXPECT_EQ(error_of_batches(sharp, {.batch_invariant = true}), 0);
}

TEST(Cuda, KvThatIsReservedLaterIsAsGood) {
  const std::vector<TokenId> tokens = random_tokens(50, 3);
  const auto logits_of = [&](DeviceDecoder& decoder) {
    auto runner = SequenceRunner::create(decoder, 64);
    CHECK(runner.ok(), "{}", runner.error().message);
    const auto logits = runner->feed(tokens, 1);
    return std::vector<float>(logits.begin(), logits.end());
  };
  const auto plain = random_decoder(dense_config(64), tensor::DType::bf16);
  std::unique_ptr<DeviceDecoder> later[2];
  for (auto& decoder : later) decoder = random_decoder(dense_config(64), DeviceOptions{.kv_later = true});
  const base::Result<std::int64_t> before = cuda_free_bytes();
  for (auto& decoder : later) {
    EXPECT_EQ(decoder->num_blocks(), 0);
    ASSERT_TRUE(decoder->reserve_kv(40 << 10).ok());
    EXPECT_EQ(decoder->num_blocks(), 40 << 10);
  }
  const base::Result<std::int64_t> after = cuda_free_bytes();
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_GE(*before - *after, 2 * (40 << 10) * later[0]->kv_block_bytes());
  const std::vector<float> expected = logits_of(*plain);
  for (auto& decoder : later) EXPECT_LT(relative_error(logits_of(*decoder), expected), 0.01);
}

// The test runs in a process of its own, because that process cannot use the GPU afterwards.
TEST(CudaDeathTest, AFailureInFlightIsAnErrorOfTheStep) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto fail_in_flight = [] {
    const auto decoder = random_decoder(dense_config(64), tensor::DType::bf16);
    const std::vector<std::int32_t> blocks = {1, 2};
    std::vector<RowChoice> choice(1);
    const auto step = [&](int computed) {
      StepBatch batch;
      batch.tokens = {7};
      batch.slices.push_back({0, 1, computed, blocks});
      batch.logit_rows = {0};
      decoder->start(batch);
      decoder->draw(std::vector<RowDraw>(1));
    };
    step(0);
    CHECK(decoder->collect(choice).ok(), "a good step failed");
    ops::cuda::Stream stream;
    ops::cuda::scale_and_cap(stream.handle(), reinterpret_cast<float*>(64), 1000, 2, 0);  // invalid address
    stream.wait();
    step(1);
    step(2);
    std::vector<float> logits(1000);
    bool failed = ops::cuda::has_failed();
    for (int i = 0; i < 2; ++i) failed = failed && !decoder->collect(choice).ok();
    failed = failed && !decoder->fetch_logits(0, logits).ok();
    std::_Exit(failed ? 0 : 1);
  };
  EXPECT_EXIT(fail_in_flight(), testing::ExitedWithCode(0), "");
}

// Finds calls that failed silently, which would cause wrong numbers somewhere else.
class NoCallFails final : public testing::Environment {
  void TearDown() override {
    const base::Status status = ops::cuda::gpu_status();
    EXPECT_TRUE(status.ok()) << status.error().message;
  }
};
[[maybe_unused]] const testing::Environment* const kNoCallFails =
    testing::AddGlobalTestEnvironment(new NoCallFails);

TEST(Cuda, ACopiedBlockIsAsGood) {
  const auto decoder = random_decoder(dense_config(64), tensor::DType::bf16);
  const std::vector<TokenId> tokens = random_tokens(12, 5);
  const auto step = [&](std::int32_t block, int computed, int rows) {
    StepBatch batch;
    const std::vector<std::int32_t> blocks = {block};
    batch.tokens.assign(tokens.begin() + computed, tokens.begin() + computed + rows);
    batch.slices.push_back({0, rows, computed, blocks});
    batch.logit_rows = {rows - 1};
    std::vector<float> logits(1000);
    std::vector<RowChoice> choices(1);
    EXPECT_TRUE(decoder->forward(batch, std::vector<RowDraw>(1), choices).ok());
    EXPECT_TRUE(decoder->fetch_logits(0, logits).ok());
    return logits;
  };
  step(2, 0, 11);
  decoder->copy_block(2, 0);
  EXPECT_EQ(step(0, 11, 1), step(2, 11, 1));
}

}  // namespace
}  // namespace kvasir::model
