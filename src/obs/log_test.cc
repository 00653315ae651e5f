#include "obs/log.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace kvasir::obs {
namespace {

class LogTest : public testing::Test {
 protected:
  void SetUp() override {
    Log::redirect([this](std::string_view line) { lines_.emplace_back(line); });
  }
  void TearDown() override {
    Log::redirect(nullptr);
    Log::set_level(LogLevel::info);
    Log::set_format(LogFormat::text);
  }
  std::vector<std::string> lines_;
};

TEST_F(LogTest, OneLineOfKeysAndValues) {
  Log::info("request_done", {{"id", "r1"}, {"status", 200}, {"seconds", 0.25}, {"path", "/a b"}});
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_EQ(lines_[0], "info request_done id=r1 status=200 seconds=0.25 path=\"/a b\"");
}

TEST_F(LogTest, NothingFromOutsideForgesALineOrAField) {
  Log::warn("odd",
            {{"a", "x\nerror forged"}, {"b", "y\" c=\"z"}, {"d", ""}, {"e", "k=v"}, {"f", "\x1b[31m"}});
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_EQ(lines_[0],
            "warn odd a=\"x\\x0aerror forged\" b=\"y\\\" c=\\\"z\" d=\"\" e=\"k=v\" f=\"\\x1b[31m\"");
}

TEST_F(LogTest, SecretsAreNotWritten) {
  Log::error("refused",
             {{"authorization", "Bearer sk-1"}, {"api_key", "sk-2"}, {"hf_token", "hf-3"}, {"tokens", 7}});
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_EQ(lines_[0], "error refused authorization=*** api_key=*** hf_token=*** tokens=7");
}

TEST_F(LogTest, AJsonLineHasNumbersAndEscapesTheRest) {
  Log::set_format(LogFormat::json);
  Log::info("odd", {{"a", "x\n\"}{\\"},
                    {"status", 200},
                    {"s", 0.25},
                    {"yes", true},
                    {"api_key", "sk-2"},
                    {"b",
                     "cut\xff"
                     "off"}});
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_EQ(lines_[0],
            R"({"level":"info","event":"odd","a":"x\u000a\"}{\\","status":200,"s":0.25,"yes":true,)"
            R"("api_key":"***","b":"cut\ufffdoff"})");
}

TEST_F(LogTest, LevelsBelowTheSetOneAreDropped) {
  Log::debug("no");
  Log::set_level(LogLevel::error);
  Log::warn("no");
  Log::error("yes");
  Log::set_level(LogLevel::off);
  Log::error("no");
  EXPECT_EQ(lines_, std::vector<std::string>{"error yes"});
}

TEST_F(LogTest, LevelsHaveNames) {
  EXPECT_EQ(*parse_log_level("warn"), LogLevel::warn);
  EXPECT_EQ(parse_log_level("loud").error().message,
            "'loud' is no log level; there are trace, debug, info, warn, error, off");
}

TEST_F(LogTest, FlushWaitsForTheLinesOnStderr) {
  Log::redirect(nullptr);
  testing::internal::CaptureStderr();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 100; ++i) Log::info("line", {{"i", i}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  Log::flush();
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 400);
  EXPECT_NE(text.find("Z info line i=99\n"), std::string::npos);
}

}  // namespace
}  // namespace kvasir::obs
