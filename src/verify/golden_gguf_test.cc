#include "model/golden_gguf.h"

#include <gtest/gtest.h>

#include "model/golden_models_test.h"
#include "verify/embed_check.h"
#include "verify/model_check.h"

namespace kvasir::verify {
namespace {

void expect_reference(const char* name, model::LatentTensors latent) {
  const std::filesystem::path golden = model::kModels / name;
  const model::TemporaryDirectory directory;
  const auto file = directory.write("model.gguf", model::GoldenGguf(golden, latent).build().build());
  ops::ComputePool pool(2);
  const auto check = check_model(file, golden / "expected.json", pool);
  ASSERT_TRUE(check.ok()) << check.error().message;
  EXPECT_LT(check->logit_error, 2e-5);
  EXPECT_EQ(check->num_missed, 0);
}

class GgufModel : public testing::TestWithParam<const char*> {};

TEST_P(GgufModel, MatchesTheReference) {
  expect_reference(GetParam(), model::LatentTensors::apart);
}

INSTANTIATE_TEST_SUITE_P(All, GgufModel,
                         testing::Values("llama", "llama_tied", "llama3_rope", "llama_yarn",
                                         "llama_bias_heads", "mistral_swa", "mixtral", "qwen2", "qwen3",
                                         "qwen3_moe", "gemma2", "gemma3", "phi3", "smollm3", "olmo2",
                                         "granite", "gpt2", "deepseek_v3"));

TEST(GgufModel, ReadsTheLatentsOldTensorToo) {
  expect_reference("deepseek_v3", model::LatentTensors::together);
}

TEST(GgufEncoder, MatchesTheReference) {
  const model::TemporaryDirectory directory;
  const auto file = directory.write("model.gguf", model::GoldenGguf(model::kModels / "bert").build().build());
  ops::ComputePool pool(2);
  const auto check = check_encoder(file, model::kModels / "bert" / "expected.json", pool);
  ASSERT_TRUE(check.ok()) << check.error().message;
  EXPECT_LT(check->largest_distance(), 1e-6);
}

}  // namespace
}  // namespace kvasir::verify
