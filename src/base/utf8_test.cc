#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace kvasir::base {
namespace {

std::string repaired(const std::vector<std::string>& pieces) {
  Utf8Repair repair;
  std::string out;
  for (const std::string& piece : pieces) repair.push(piece, out);
  repair.finish(out);
  return out;
}

constexpr const char* kMark = "\xEF\xBF\xBD";

TEST(Utf8Repair, ReplacesEachMaximalSubpart) {
  const std::string mark = kMark;
  const std::pair<std::string, std::string> cases[] = {
      {"plain", "plain"},
      {"\xE4\xBD\xA0", "\xE4\xBD\xA0"},
      {"a\xFFz", "a" + mark + "z"},
      {"\xE4\xBD", mark},                               // incomplete at the end
      {"\xE4\xBDz", mark + "z"},                        // an incomplete character, then another one
      {"\xC0\xAF", mark + mark},                        // overlong
      {"\xED\xA0\x80", mark + mark + mark},             // a surrogate
      {"\xF4\x90\x80\x80", mark + mark + mark + mark},  // beyond U+10FFFF
      {"\xF0\x9F\x98", mark},
      {"\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80"},
      {"\x80\x80", mark + mark},
  };
  for (const auto& [bytes, expected] : cases) EXPECT_EQ(repaired({bytes}), expected);
}

TEST(Utf8Repair, DoesNotDependOnTheCuts) {
  const std::string bytes = "a\xE4\xBD\xA0\xFF\xF0\x9F\x98\x80\xE4\xBDz\xED\xA0\x80\xF0\x9F";
  const std::string whole = repaired({bytes});
  for (std::size_t first = 0; first <= bytes.size(); ++first) {
    for (std::size_t second = first; second <= bytes.size(); ++second) {
      EXPECT_EQ(repaired({bytes.substr(0, first), bytes.substr(first, second - first), bytes.substr(second)}),
                whole);
    }
  }
}

TEST(Utf8, WritesWhatItReads) {
  for (const char32_t c : {U'a', U'\u00E9', U'\u4F60', U'\U0001F600', U'\U0010FFFF'}) {
    std::string bytes;
    append_utf8(c, bytes);
    const Utf8Step step = utf8_step(bytes);
    EXPECT_EQ(step.kind, Utf8Step::Kind::character);
    EXPECT_EQ(step.value, c);
    EXPECT_EQ(step.size, bytes.size());
  }
}

}  // namespace
}  // namespace kvasir::base
