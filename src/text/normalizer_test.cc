#include "text/normalizer.h"

#include <gtest/gtest.h>

#include <string>

namespace kvasir::text {
namespace {

std::string nfc(const std::string& text) {
  return normalize(text, {{.kind = NormalizerStep::Kind::nfc}});
}

TEST(Normalize, ComposesToFormC) {
  EXPECT_EQ(nfc("plain"), "plain");
  EXPECT_EQ(nfc("e\u0301"), "\u00E9");
  EXPECT_EQ(nfc("\u00E9"), "\u00E9");
  EXPECT_EQ(nfc("q\u0323\u0307"), "q\u0323\u0307");
  EXPECT_EQ(nfc("q\u0307\u0323"), "q\u0323\u0307");  // marks in canonical order
  EXPECT_EQ(nfc("\u1112\u1161\u11AB"), "\uD55C");    // Hangul
  EXPECT_EQ(nfc("\u212B"), "\u00C5");                // Ångström sign
  EXPECT_EQ(nfc("\uFB01"), "\uFB01");                // no compatibility forms
  EXPECT_EQ(nfc("\u0958"), "\u0915\u093C");          // excluded from composition
}

// Insertion-sorting these marks would take hours.
TEST(Normalize, LongRunsOfMarksAreNotQuadratic) {
  std::string marks = "a";
  for (int i = 0; i < 200'000; ++i) marks += "\u0301\u0323";
  const std::string normal = nfc(marks);
  EXPECT_TRUE(
      normal.starts_with("\u1EA1\u0323"));  // the first dot below joined the letter, the others follow
  EXPECT_TRUE(normal.ends_with("\u0301\u0301"));
}

TEST(Normalize, RunsStepsInOrder) {
  const std::vector<NormalizerStep> steps = {
      {.kind = NormalizerStep::Kind::prepend, .from = {}, .to = "_"},
      {.kind = NormalizerStep::Kind::replace, .from = "ab", .to = "ba"},
  };
  EXPECT_EQ(normalize("aabab", steps), "_ababa");
  EXPECT_EQ(normalize("", steps), "");
  EXPECT_EQ(normalize("x", {{.kind = NormalizerStep::Kind::prefix_space}}), " x");
  EXPECT_EQ(normalize(" x", {{.kind = NormalizerStep::Kind::prefix_space}}), " x");
}

}  // namespace
}  // namespace kvasir::text
