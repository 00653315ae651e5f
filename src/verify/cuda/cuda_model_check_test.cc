#include <gtest/gtest.h>

#include "model/golden_models_test.h"
#include "verify/model_check.h"

namespace kvasir::verify {
namespace {

class Golden : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Cuda, Golden,
                         testing::Values("deepseek_v3", "gemma2", "gemma3", "gpt2", "granite", "llama",
                                         "llama3_rope", "llama_bias_heads", "llama_tied", "llama_yarn",
                                         "mistral_swa", "mixtral", "olmo2", "phi3", "qwen2", "qwen3",
                                         "qwen3_moe", "smollm3"));

TEST_P(Golden, IsMetInFloat32) {
  ops::ComputePool pool(2);
  const auto check = check_model_on_cuda(model::kModels / GetParam(), pool);
  ASSERT_TRUE(check.ok()) << check.error().message;
  EXPECT_TRUE(check->passed()) << check->logit_error << " of the logits' spread, first miss "
                               << check->first_missed;
  EXPECT_LT(check->logit_error, 1e-4);
}

}  // namespace
}  // namespace kvasir::verify
