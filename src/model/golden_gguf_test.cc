#include "model/golden_gguf.h"

#include <gtest/gtest.h>

#include "model/decoder/decoder.h"
#include "model/decoder/sequence_runner.h"
#include "model/embed_check.h"
#include "model/golden_models_test.h"
#include "model/model_check.h"

namespace kvasir::model {
namespace {

void expect_reference(const char* name, LatentTensors latent) {
  const std::filesystem::path golden = kModels / name;
  const TemporaryDirectory directory;
  const auto file = directory.write("model.gguf", GoldenGguf(golden, latent).build().build());
  ops::ComputePool pool(2);
  const auto check = check_model(file, golden / "expected.json", pool);
  ASSERT_TRUE(check.ok()) << check.error().message;
  EXPECT_LT(check->logit_error, 2e-5);
  EXPECT_EQ(check->num_missed, 0);
}

class GgufModel : public testing::TestWithParam<const char*> {};

TEST_P(GgufModel, MatchesTheReference) {
  expect_reference(GetParam(), LatentTensors::apart);
}

INSTANTIATE_TEST_SUITE_P(All, GgufModel,
                         testing::Values("llama", "llama_tied", "llama3_rope", "llama_yarn",
                                         "llama_bias_heads", "mistral_swa", "mixtral", "qwen2", "qwen3",
                                         "qwen3_moe", "gemma2", "gemma3", "phi3", "smollm3", "olmo2",
                                         "granite", "gpt2", "deepseek_v3"));

std::vector<float> logits_of(const std::filesystem::path& file, ops::ComputePool& pool) {
  auto checkpoint = open_checkpoint(file);
  CHECK(checkpoint.ok(), "{}", checkpoint.error().message);
  const auto decoder = Decoder::load(std::move(*checkpoint), {.precision = ops::Precision::exact}, pool);
  CHECK(decoder.ok(), "{}", decoder.error().message);
  auto runner = SequenceRunner::create(**decoder, ops::KvType::f32, 32);
  CHECK(runner.ok(), "{}", runner.error().message);
  std::vector<TokenId> tokens(20);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<TokenId>(i * 17 % 320);
  const std::span<const float> logits = runner->feed(tokens, 20);
  return {logits.begin(), logits.end()};
}

// Parts of quantised tensors (experts, fused projections, latents) are the parts of the same numbers as
// floats.
class QuantizedGgufModel : public testing::TestWithParam<const char*> {};

TEST_P(QuantizedGgufModel, EqualsItsNumbersAsFloats) {
  const TemporaryDirectory directory;
  ops::ComputePool pool(2);
  for (const LatentTensors latent : {LatentTensors::apart, LatentTensors::together}) {
    const auto logits = [&](MatrixType type) {
      GoldenGguf golden(kModels / GetParam(), latent, type);
      return logits_of(directory.write("model.gguf", golden.build().build()), pool);
    };
    const std::vector<float> expected = logits(MatrixType::rounded);
    const std::vector<float> got = logits(MatrixType::q8_0);
    EXPECT_NE(got, logits(MatrixType::f32));
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 1e-5f);
  }
}

INSTANTIATE_TEST_SUITE_P(All, QuantizedGgufModel,
                         testing::Values("llama", "phi3", "gpt2", "mixtral", "qwen3_moe", "deepseek_v3"));

TEST(GgufModel, ReadsTheLatentsOldTensorToo) {
  expect_reference("deepseek_v3", LatentTensors::together);
}

TEST(GgufEncoder, MatchesTheReference) {
  const TemporaryDirectory directory;
  const auto file = directory.write("model.gguf", GoldenGguf(kModels / "bert").build().build());
  ops::ComputePool pool(2);
  const auto check = check_encoder(file, kModels / "bert" / "expected.json", pool);
  ASSERT_TRUE(check.ok()) << check.error().message;
  EXPECT_LT(check->largest_distance(), 1e-6);
}

}  // namespace
}  // namespace kvasir::model
