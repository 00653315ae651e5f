#include "text/tokenizer/json_scanner.h"

#include <gtest/gtest.h>

#include <string>

#include "base/json.h"

namespace kvasir::text {
namespace {

using State = JsonScanner::State;

// Scans one byte at a time. Returns the final state and how many bytes were taken.
std::pair<State, std::size_t> scan(std::string_view text) {
  JsonScanner scanner;
  std::size_t taken = 0;
  for (const char c : text) taken += scanner.push({&c, 1});
  return {scanner.state(), taken};
}

TEST(JsonScanner, EndsWithTheValue) {
  const std::string value = R"({"a": [1, -2.5e+3, 0, "x\"}\u00e9", true, {"b": null}], "c": {}})";
  EXPECT_EQ(scan(value + " and more }"), (std::pair{State::complete, value.size()}));
  JsonScanner whole;
  EXPECT_EQ(whole.push(value + "tail"), value.size());
  for (std::size_t cut = 0; cut < value.size(); ++cut)
    EXPECT_EQ(scan(value.substr(0, cut)), (std::pair{State::open, cut})) << cut;
}

TEST(JsonScanner, AgreesWithTheParser) {
  for (const char* text : {"{}",         "[]",        "[1]",           "[01]",       "[1.]",
                           "[.5]",       "[-]",       "[1e]",          "[1e5]",      "[1E-05]",
                           "[-0.0]",     "[tru]",     "[nul]",         "{\"a\"}",    "{\"a\":}",
                           "{\"a\":1,}", "[1,]",      "[,1]",          "{a:1}",      "['a']",
                           "[\"\n\"]",   "[\"\\x\"]", "[\"\\u12g4\"]", "[1 2]",      "{\"a\":1 \"b\":2}",
                           "[1}",        "{\"a\":1]", "[[[]]]",        "[\"\\\\\"]", "[+1]"}) {
    const bool complete = scan(text).first == State::complete;
    EXPECT_EQ(complete, base::parse_json(text).ok()) << text;
  }
  EXPECT_EQ(scan("1").first, State::invalid);
  EXPECT_EQ(scan(" {}").first, State::invalid);
  EXPECT_EQ(scan(std::string(JsonScanner::kMaxDepth + 1, '[')).first, State::invalid);
}

}  // namespace
}  // namespace kvasir::text
