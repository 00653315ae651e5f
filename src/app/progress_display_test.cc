#include "app/progress_display.h"

#include <gtest/gtest.h>

#include <string>

namespace kvasir::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kMegabyte = 1'000'000;

class ProgressDisplayTest : public testing::Test {
 protected:
  ProgressDisplay::Options options(bool terminal) {
    return {.terminal = terminal,
            .width = 100,
            .write = [this](std::string_view text) { text_ += text; },
            .clock = &clock_};
  }
  // The text written since the last call.
  std::string taken() { return std::exchange(text_, ""); }

  base::FakeClock clock_;
  std::string text_;
};

TEST_F(ProgressDisplayTest, WithoutATerminalALineNowAndThen) {
  ProgressDisplay display(options(false));
  display.bytes("smollm2", 0, 100 * kMegabyte);
  EXPECT_EQ(taken(), "");
  clock_.advance(seconds(4));
  display.bytes("smollm2", 40 * kMegabyte, 100 * kMegabyte);
  EXPECT_EQ(taken(), "");
  clock_.advance(seconds(1));
  display.bytes("smollm2", 50 * kMegabyte, 100 * kMegabyte);
  EXPECT_EQ(taken(), "smollm2          50.0 of 100.0 MB   50%  10.0 MB/s  0:05 left\n");
  display.note("smollm2", "passing over hf:x");
  EXPECT_EQ(taken(), "smollm2: passing over hf:x\n");
  display.bytes("smollm2", 100 * kMegabyte, 100 * kMegabyte);
  EXPECT_EQ(taken(), "smollm2         100.0 MB  100%\n");
  display.bytes("smollm2", 100 * kMegabyte, 100 * kMegabyte);
  EXPECT_EQ(taken(), "");
}

TEST_F(ProgressDisplayTest, OnATerminalALineAModelIsDrawnInPlace) {
  ProgressDisplay display(options(true));
  display.bytes("a", 0, 100 * kMegabyte);
  EXPECT_EQ(taken().find("\x1b["), 1u);  // the first drawing does not move the cursor up
  display.bytes("a", 1, 100 * kMegabyte);
  EXPECT_EQ(taken(), "");  // too soon
  clock_.advance(milliseconds(100));
  display.bytes("b", 50 * kMegabyte, 100 * kMegabyte);
  const std::string drawn = taken();
  EXPECT_TRUE(drawn.starts_with("\x1b[1A"));
  EXPECT_NE(drawn.find("50.0 of 100.0 MB   50%"), std::string::npos);
  EXPECT_NE(drawn.find("[########"), std::string::npos);
  display.note("a", "verifying");
  const std::string noted = taken();
  EXPECT_TRUE(noted.starts_with("\x1b[2A\x1b[Ja: verifying\n"));
}

TEST_F(ProgressDisplayTest, NoLineIsWiderThanTheTerminal) {
  for (const int width : {1, 20, 60, 80, 200}) {
    ProgressDisplay::Options narrow = options(true);
    narrow.width = width;
    ProgressDisplay display(narrow);
    display.bytes("qwen2.5-coder", 10 * kMegabyte, 1117 * kMegabyte);
    clock_.advance(seconds(1));
    display.bytes("qwen2.5-coder", 20 * kMegabyte, 1117 * kMegabyte);
    const std::string text = taken();
    const std::size_t begin = text.rfind("\x1b[K") + 3;
    EXPECT_LE(text.size() - begin - 1, static_cast<std::size_t>(std::max(1, width - 1))) << width;
  }
}

TEST_F(ProgressDisplayTest, FallingBackAndEmptyModelsDoNoHarm) {
  ProgressDisplay display(options(false));
  display.bytes("a", 50, 100);
  clock_.advance(seconds(6));
  display.bytes("a", 10, 100);
  display.bytes("a", 0, 0);
  clock_.advance(seconds(6));
  display.bytes("a", 0, 100);
  EXPECT_NE(taken().find("10%"), std::string::npos);
}

}  // namespace
}  // namespace kvasir::app
