#include "app/top_view.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace kvasir::app {
namespace {

constexpr const char* kConstants =
    R"({"version": "1.2", "block_tokens": 16, "latency_bounds": [0.1, 0.5, 1]})";

// An event `seconds` after the first, when `written` tokens had been generated and `measured` requests had
// been measured.
std::string look_at(double seconds, int written, int measured, const std::string& id = "req-1") {
  return fmt::format(
      R"({{"at_ms": {}, "lobby": 2, "refusals": {{"rate_limit_exceeded": 4}}, "models": [
        {{"name": "m", "state": "ready", "queue": {{"0": 3, "10": 1}},
          "report": {{"blocks": 100, "free_blocks": 30, "cached_blocks": 20, "running": 1, "waiting": 4}},
          "counters": {{"steps": {}, "prefill_tokens": 0, "decode_tokens": {}, "cached_tokens": 0}},
          "ttft": [0, {}, 0, 0], "tpot": [{}, 0, 0, 0], "goodput": {{"free": 0.5, "pro": null}},
          "sequences": [{{"id": "{}", "tenant": "acme", "state": "running", "priority": 10, "age_ms": 1500,
                          "prompt": 7, "cached": 2, "output": 5, "blocks": 1}}]}},
        {{"name": "n", "state": "downloading", "progress": 0.25}}]}})",
      1000 * (seconds + 1e6), written / 2, written, measured, measured, id);
}

std::string text_of(const TopView& view, TopView::Size size = {.columns = 200}) {
  std::string text;
  for (const std::string& line : view.frame(size)) text += line + '\n';
  return text;
}

TEST(TopViewTest, ShowsWhatTheMachineDoes) {
  TopView view("http://here");
  ASSERT_TRUE(view.take(kConstants).ok());
  ASSERT_TRUE(view.take(look_at(0, 100, 0)).ok());
  ASSERT_TRUE(view.take(look_at(0.5, 150, 10)).ok());
  EXPECT_EQ(view.num_looks(), 2);
  const std::string text = text_of(view);
  for (const char* part :
       {"Kvasir 1.2 at http://here",
        "m                    ready        100.0      0.0   300 ms   480 ms    50 ms",
        "50 %    2.0    1    4 [#####.....]  50 %", "n                    25 %",
        "10: 1  0: 3   at the door: 2", "rate_limit_exceeded: 4",
        "req-1                                acme                 running    10    1.5 s"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(TopViewTest, PercentilesAreOfTheLastSeconds) {
  TopView view("u");
  ASSERT_TRUE(view.take(kConstants).ok());
  for (int i = 0; i <= 60; ++i) ASSERT_TRUE(view.take(look_at(0.5 * i, 10 * i, 10)).ok());
  EXPECT_EQ(text_of(view).find("300 ms"), std::string::npos) << text_of(view);
}

TEST(TopViewTest, FitsTheScreenAndNamesDoNotSteerIt) {
  TopView view("u");
  ASSERT_TRUE(view.take(kConstants).ok());
  ASSERT_TRUE(view.take(look_at(0, 0, 0, "a\\u001b[2Jb")).ok());
  EXPECT_EQ(text_of(view).find('\x1b'), std::string::npos);
  EXPECT_NE(text_of(view).find("a?[2Jb"), std::string::npos);
  const auto lines = view.frame({.columns = 20, .rows = 5});
  EXPECT_EQ(lines.size(), 5u);
  for (const std::string& line : lines) EXPECT_LE(line.size(), 20u) << line;
}

TEST(TopViewTest, OddEventsAreNoCrash) {
  TopView view("u");
  EXPECT_FALSE(view.take("{").ok());
  for (const char* odd :
       {"{}", "[]", "3", R"({"models": [1, {"counters": 2, "report": []}], "refusals": {"a": "b"}})",
        R"({"latency_bounds": ["x"]})"})
    EXPECT_TRUE(view.take(odd).ok()) << odd;
  EXPECT_FALSE(text_of(view).empty());
}

}  // namespace
}  // namespace kvasir::app
