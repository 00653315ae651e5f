#include "model/decoder/decoder.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "model/decoder/sequence_runner.h"
#include "model/golden_models_test.h"

namespace kvasir::model {
namespace {

constexpr int kVocab = 320;

std::unique_ptr<Decoder> load(const std::filesystem::path& path, ops::ComputePool& pool) {
  auto checkpoint = open_checkpoint(path);
  CHECK(checkpoint.ok(), "{}", checkpoint.error().message);
  auto decoder = Decoder::load(std::move(*checkpoint), {}, pool);
  CHECK(decoder.ok(), "{}", decoder.error().message);
  return std::move(*decoder);
}

std::vector<TokenId> random_tokens(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<TokenId> tokens(static_cast<std::size_t>(count));
  for (TokenId& token : tokens) token = static_cast<TokenId>(random() % kVocab);
  return tokens;
}

SequenceRunner make_runner(Decoder& decoder) {
  auto runner = SequenceRunner::create(decoder, ops::KvType::f16, 256);
  CHECK(runner.ok(), "{}", runner.error().message);
  return std::move(*runner);
}

std::vector<float> copy(std::span<const float> values) {
  return {values.begin(), values.end()};
}

// Returns the logits after every token. Tokens are fed one at a time.
std::vector<float> one_by_one(Decoder& decoder, std::span<const TokenId> tokens) {
  SequenceRunner runner = make_runner(decoder);
  std::vector<float> logits;
  for (const TokenId& token : tokens) {
    const std::span<const float> row = runner.feed({&token, 1}, 1);
    logits.insert(logits.end(), row.begin(), row.end());
  }
  return logits;
}

// Models that differ in what they compute: biases and groups of heads, windows and two ropes, experts, shared
// experts and latents, learned positions.
class EveryKind : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Decoder, EveryKind,
                         testing::Values("qwen2", "llama_bias_heads", "gemma3", "mixtral", "deepseek_v3",
                                         "gpt2"));

TEST_P(EveryKind, ChunksChangeNoBit) {
  ops::ComputePool pool(2);
  const auto decoder = load(kModels / GetParam(), pool);
  const std::vector<TokenId> tokens = random_tokens(75, 1);
  const std::vector<float> expected = one_by_one(*decoder, tokens);
  for (const std::size_t chunk : {std::size_t{3}, std::size_t{16}, std::size_t{29}, std::size_t{75}}) {
    SequenceRunner runner = make_runner(*decoder);
    std::vector<float> logits;
    for (std::size_t at = 0; at < tokens.size(); at += chunk) {
      const auto part = std::span(tokens).subspan(at, std::min(chunk, tokens.size() - at));
      const std::span<const float> rows = runner.feed(part, static_cast<int>(part.size()));
      logits.insert(logits.end(), rows.begin(), rows.end());
    }
    EXPECT_EQ(logits, expected) << "chunks of " << chunk;
  }
}

TEST_P(EveryKind, ThreadsChangeNoBit) {
  const std::vector<TokenId> tokens = random_tokens(40, 2);
  ops::ComputePool one(1);
  const auto alone = load(kModels / GetParam(), one);
  SequenceRunner first = make_runner(*alone);
  const std::vector<float> expected = copy(first.feed(tokens, 40));
  ops::ComputePool three(3);
  const auto spread = load(kModels / GetParam(), three);
  SequenceRunner second = make_runner(*spread);
  EXPECT_EQ(copy(second.feed(tokens, 40)), expected);
}

// Runs sequences of different lengths with scattered blocks. In a step, some prefill and some decode.
TEST_P(EveryKind, ABatchChangesNoBit) {
  ops::ComputePool pool(2);
  const auto decoder = load(kModels / GetParam(), pool);
  auto kv = KvCache::create(decoder->config(), ops::KvType::f16, 64);
  ASSERT_TRUE(kv.ok());
  std::vector<std::int32_t> free(64);
  std::iota(free.begin(), free.end(), 0);
  std::shuffle(free.begin(), free.end(), std::mt19937(3));

  struct Sequence {
    std::vector<TokenId> tokens;
    std::vector<std::int32_t> blocks;
    std::vector<float> expected;  // after each token
    int computed = 0;
  };
  std::vector<Sequence> sequences(7);
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    Sequence& s = sequences[i];
    s.tokens = random_tokens(20 + 13 * static_cast<int>(i), static_cast<unsigned>(10 + i));
    s.expected = one_by_one(*decoder, s.tokens);
    for (std::size_t n = 0; n < s.tokens.size(); n += 16) {
      s.blocks.push_back(free.back());
      free.pop_back();
    }
  }

  std::mt19937 random(4);
  for (int num_done = 0; num_done < static_cast<int>(sequences.size());) {
    StepBatch batch;
    std::vector<std::pair<const Sequence*, int>>
        wanted;  // a sequence, and the token after which logits are wanted
    for (Sequence& s : sequences) {
      const int left = static_cast<int>(s.tokens.size()) - s.computed;
      const int rows = std::min(left, static_cast<int>(random() % 9));
      if (rows == 0) continue;
      const int first = static_cast<int>(batch.tokens.size());
      batch.slices.push_back({first, rows, s.computed, s.blocks});
      batch.tokens.insert(batch.tokens.end(), s.tokens.begin() + s.computed,
                          s.tokens.begin() + s.computed + rows);
      s.computed += rows;
      batch.logit_rows.push_back(first + rows - 1);
      wanted.emplace_back(&s, s.computed - 1);
      if (rows == left) ++num_done;
    }
    std::vector<float> logits(batch.logit_rows.size() * kVocab);
    decoder->forward(batch, *kv, logits);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto& [sequence, token] = wanted[i];
      const std::span<const float> expected =
          std::span(sequence->expected).subspan(static_cast<std::size_t>(token) * kVocab, kVocab);
      EXPECT_EQ(copy(std::span(logits).subspan(i * kVocab, kVocab)), copy(expected));
    }
  }
}

TEST_P(EveryKind, ACopiedBlockIsAsGood) {
  ops::ComputePool pool(1);
  const auto decoder = load(kModels / GetParam(), pool);
  auto kv = KvCache::create(decoder->config(), ops::KvType::bf16, 4);
  ASSERT_TRUE(kv.ok());
  const std::vector<TokenId> tokens = random_tokens(12, 5);
  const std::vector<std::int32_t> first = {2};
  const std::vector<std::int32_t> second = {0};
  const auto step = [&](std::span<const std::int32_t> blocks, int computed, int rows) {
    StepBatch batch;
    batch.tokens.assign(tokens.begin() + computed, tokens.begin() + computed + rows);
    batch.slices.push_back({0, rows, computed, blocks});
    batch.logit_rows = {rows - 1};
    std::vector<float> logits(kVocab);
    decoder->forward(batch, *kv, logits);
    return logits;
  };
  step(first, 0, 11);
  kv->copy_block(2, 0);
  EXPECT_EQ(step(second, 11, 1), step(first, 11, 1));
}

TEST(Decoder, AStepMayWantNoLogits) {
  ops::ComputePool pool(1);
  const auto decoder = load(kModels / "llama", pool);
  const std::vector<TokenId> tokens = random_tokens(20, 6);
  SequenceRunner whole = make_runner(*decoder);
  const std::vector<float> expected = copy(whole.feed(tokens, 1));
  SequenceRunner parts = make_runner(*decoder);
  EXPECT_TRUE(parts.feed(std::span(tokens).first(19), 0).empty());
  EXPECT_EQ(copy(parts.feed(std::span(tokens).last(1), 1)), expected);
}

TEST(KvCache, HoldsOneLatentAToken) {
  const auto latent = open_checkpoint(kModels / "deepseek_v3");
  const auto plain = open_checkpoint(kModels / "qwen3");
  ASSERT_TRUE(latent.ok() && plain.ok());
  // A latent token has 4 layers of 32 + 8 numbers. A plain one has 4 layers of keys and values, of 2 heads of
  // 16 numbers.
  EXPECT_EQ(KvCache::bytes_per_block(latent->config, ops::KvType::f16), 16 * 4 * (32 + 8) * 2);
  EXPECT_EQ(KvCache::bytes_per_block(plain->config, ops::KvType::f16), 16 * 4 * 2 * (2 * 16) * 2);
}

TEST(Decoder, AWrongShapeIsAnError) {
  ops::ComputePool pool(1);
  auto checkpoint = open_checkpoint(kModels / "llama");
  ASSERT_TRUE(checkpoint.ok());
  checkpoint->config.intermediate_size = 175;
  const auto decoder = Decoder::load(std::move(*checkpoint), {}, pool);
  ASSERT_FALSE(decoder.ok());
  EXPECT_EQ(decoder.error().code, base::ErrorCode::corrupt);
  EXPECT_NE(decoder.error().message.find("[176, 64] where the config makes it [175, 64]"), std::string::npos)
      << decoder.error().message;
}

}  // namespace
}  // namespace kvasir::model
