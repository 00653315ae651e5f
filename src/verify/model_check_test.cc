#include "verify/model_check.h"

#include <gtest/gtest.h>

#include <fstream>

#include "model/file/weight_file_builder.h"
#include "model/golden_models_test.h"

namespace kvasir::verify {
namespace {

class GoldenModel : public testing::TestWithParam<const char*> {};

TEST_P(GoldenModel, MatchesTheReference) {
  ops::ComputePool pool(2);
  const auto check = check_model(model::kModels / GetParam(), pool);
  ASSERT_TRUE(check.ok()) << check.error().message;
  // The goldens have six decimals, and float32 arithmetic stays near that.
  EXPECT_LT(check->logit_error, 2e-5);
  EXPECT_LT(check->logprob_error, 1e-4);
  EXPECT_EQ(check->num_greedy, 24);
  EXPECT_EQ(check->num_missed, 0);
  EXPECT_TRUE(check->passed());
}

INSTANTIATE_TEST_SUITE_P(All, GoldenModel,
                         testing::Values("llama", "llama_tied", "llama3_rope", "llama_yarn",
                                         "llama_bias_heads", "qwen2", "mistral_swa", "qwen3", "gemma2",
                                         "gemma3", "phi3", "smollm3", "olmo2", "granite", "mixtral",
                                         "qwen3_moe", "gpt2", "deepseek_v3"));

// The check must be able to fail. Here the same weights have a config with another rope.
TEST(ModelCheck, SeesAWrongModel) {
  const model::TemporaryDirectory directory;
  for (const char* name : {"expected.json", "model.safetensors"})
    std::filesystem::copy(model::kModels / "llama" / name, directory.path() / name);
  std::ifstream in(model::kModels / "llama" / "config.json");
  std::string config(std::istreambuf_iterator<char>(in), {});
  const std::string theta = "\"rope_theta\": 10000.0";
  ASSERT_NE(config.find(theta), std::string::npos);
  config.replace(config.find(theta), theta.size(), "\"rope_theta\": 500.0");
  directory.write("config.json", config);

  ops::ComputePool pool(1);
  const auto check = check_model(directory.path(), pool);
  ASSERT_TRUE(check.ok()) << check.error().message;
  EXPECT_FALSE(check->passed());
}

TEST(ModelCheck, RefusesAGoldenOfAnotherModel) {
  const model::TemporaryDirectory directory;
  for (const char* name : {"config.json", "model.safetensors"})
    std::filesystem::copy(model::kModels / "llama" / name, directory.path() / name);
  ops::ComputePool pool(1);
  EXPECT_EQ(check_model(directory.path(), pool).error().code, base::ErrorCode::not_found);
  directory.write("expected.json", R"({"input_ids":[1,5000],"logits_last8":[[1,2]],"greedy":[]})");
  EXPECT_EQ(check_model(directory.path(), pool).error().code, base::ErrorCode::invalid_argument);
  for (const char* token : {"1e300", "-1e300", "-1", "4294967296"}) {
    directory.write("expected.json", R"({"input_ids":[1],"logits_last8":[],"greedy":[{"token":)" +
                                         std::string(token) + R"(,"logprob":0,"margin":0}]})");
    const auto check = check_model(directory.path(), pool);
    ASSERT_FALSE(check.ok());
    EXPECT_NE(check.error().message.find("token"), std::string::npos) << check.error().message;
  }
  directory.write("expected.json", R"({"input_ids":"many"})");
  EXPECT_EQ(check_model(directory.path(), pool).error().code, base::ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace kvasir::verify
