#include "app/expiry.h"

#include <gtest/gtest.h>

namespace kvasir::app {
namespace {

TEST(Expiry, IsASpanOrADate) {
  EXPECT_EQ(parse_expiry("30m", 5).value(), 5 + 30 * 60'000);
  EXPECT_EQ(parse_expiry("12h", 0).value(), 12 * 3'600'000);
  EXPECT_EQ(parse_expiry("90d", 0).value(), 90LL * 86'400'000);
  EXPECT_EQ(parse_expiry("2027-01-31", 0).value(), 1'801'353'600'000);
  EXPECT_EQ(parse_expiry("2027-01-31T12:00:01Z", 0).value(), 1'801'396'801'000);
}

TEST(Expiry, SaysWhatItExpected) {
  for (const char* wrong : {"", "d", "0d", "-1d", "5", "5w", "5 d", "9999999999999999999d", "2027-02-30",
                            "2027-1-1", "2027-01-01T25:00:00Z", "2027-01-01T12:00", "20270131", "tomorrow"}) {
    const auto parsed = parse_expiry(wrong, 0);
    ASSERT_FALSE(parsed.ok()) << wrong;
    EXPECT_NE(parsed.error().message.find("--expires: expected"), std::string::npos);
  }
  EXPECT_EQ(parse_expiry("2020-01-01", 1'800'000'000'000).error().message, "--expires: 2020-01-01 is over");
}

TEST(Expiry, IsShownInUtc) {
  EXPECT_EQ(moment_text(0), "never");
  EXPECT_EQ(moment_text(1'801'396'801'000), "2027-01-31 12:00");
}

}  // namespace
}  // namespace kvasir::app
