#include "verify/embed_check.h"

#include <gtest/gtest.h>

#include "model/golden_models_test.h"

namespace kvasir::verify {
namespace {

TEST(Encoder, MatchesTheReference) {
  ops::ComputePool pool(2);
  const auto check = check_encoder(model::kModels / "bert", pool);
  ASSERT_TRUE(check.ok()) << check.error().message;
  EXPECT_EQ(check->texts.size(), 3u);
  EXPECT_LT(check->largest_distance(), 1e-6);
  EXPECT_TRUE(check->passed());
}

}  // namespace
}  // namespace kvasir::verify
