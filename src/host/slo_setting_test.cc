#include "host/slo_setting.h"

#include <gtest/gtest.h>

namespace kvasir::host {
namespace {

TEST(SloSetting, IsForAllOrForOne) {
  const auto parsed = parse_slo_ms("--slo-ttft-ms", {"800", "small=300"}, {"small", "large"}).value();
  EXPECT_EQ(parsed.at("small"), 300);
  EXPECT_EQ(parsed.at("large"), 800);
  EXPECT_EQ(parse_slo_ms("--slo-ttft-ms", {}, {"small"}).value().at("small"), 0);
}

TEST(SloSetting, SaysWhatIsWrong) {
  for (const std::string entry : {"", "fast", "small=", "small=0", "=5x", "1e9"}) {
    const auto parsed = parse_slo_ms("--slo-ttft-ms", {entry}, {"small"});
    ASSERT_FALSE(parsed.ok()) << entry;
    EXPECT_NE(parsed.error().message.find("--slo-ttft-ms"), std::string::npos);
  }
  EXPECT_NE(parse_slo_ms("--slo-tpot-ms", {"other=5"}, {"small"}).error().message.find("other"),
            std::string::npos);
}

}  // namespace
}  // namespace kvasir::host
