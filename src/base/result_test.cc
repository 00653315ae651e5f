#include "base/result.h"

#include <gtest/gtest.h>

namespace kvasir::base {
namespace {

Result<int> half(int x) {
  if (x % 2) return error(ErrorCode::invalid_argument, "{} is odd", x);
  return x / 2;
}
Result<int> quarter(int x) {
  TRY(const int h, half(x));
  return half(h);
}
Status only_even(int x) {
  TRY_OK(half(x));
  return ok();
}

TEST(Result, CarriesValueOrError) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(6).error().message, "3 is odd");
  EXPECT_EQ(quarter(5).error().message, "5 is odd");
  EXPECT_TRUE(only_even(2).ok());
  EXPECT_FALSE(only_even(3).ok());
}

TEST(ResultDeathTest, ReadingTheWrongSideIsABug) {
  EXPECT_DEATH(static_cast<void>(half(3).value()), "3 is odd");
}

}  // namespace
}  // namespace kvasir::base
