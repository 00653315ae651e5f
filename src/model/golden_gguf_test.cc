#include "model/golden_gguf.h"

#include <gtest/gtest.h>

#include "model/decoder/decoder.h"
#include "model/decoder/sequence_runner.h"
#include "model/golden_models_test.h"

namespace kvasir::model {
namespace {

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

// Checks that parts cut from quantised tensors (experts, fused projections, latents) hold the same numbers as
// the parts cut from float tensors.
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

}  // namespace
}  // namespace kvasir::model
