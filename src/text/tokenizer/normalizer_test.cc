#include "text/tokenizer/normalizer.h"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <cstdlib>
#include <string>

#include "base/utf8.h"

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

// Sorting these marks by insertion would take hours.
TEST(Normalize, LongRunsOfMarksAreNotQuadratic) {
  std::string marks = "a";
  for (int i = 0; i < 200'000; ++i) marks += "\u0301\u0323";
  const std::string normal = nfc(marks);
  EXPECT_TRUE(
      normal.starts_with("\u1EA1\u0323"));  // the first dot below joined the letter, and the others follow
  EXPECT_TRUE(normal.ends_with("\u0301\u0301"));
}

TEST(Normalize, RunsStepsInOrder) {
  const std::vector<NormalizerStep> steps = {
      {.kind = NormalizerStep::Kind::prepend, .from = {}, .to = "_"},
      {.kind = NormalizerStep::Kind::replace, .from = "ab", .to = "ba"},
  };
  EXPECT_EQ(normalize("aabab", steps), "_ababa");
  EXPECT_EQ(normalize("", steps), "");
}

std::string normalized(NormalizerStep::Kind kind, const std::string& text) {
  return normalize(text, {{.kind = kind}});
}

TEST(Normalize, KnowsTheOtherForms) {
  using Kind = NormalizerStep::Kind;
  EXPECT_EQ(normalized(Kind::nfd, "\u00E9\uD55C"), "e\u0301\u1112\u1161\u11AB");
  EXPECT_EQ(normalized(Kind::nfkc, "\uFB01\uFF21"), "fiA");
  EXPECT_EQ(normalized(Kind::nfkd, "\uFB01\u00E9"), "fie\u0301");
  EXPECT_EQ(normalized(Kind::lowercase, "\u0130A\u00C4"), "i\u0307a\u00E4");
  EXPECT_EQ(normalized(Kind::strip_left, "\u3000 a "), "a ");
  EXPECT_EQ(normalized(Kind::strip_right, " a\u3000\n"), " a");
  EXPECT_EQ(normalized(Kind::strip_marks, "e\u0301"), "e");
  EXPECT_EQ(normalized(Kind::nmt, "a\u0001\tb\u200Bc"), "a b c");
  EXPECT_EQ(normalized(Kind::clean, "a\u0007\tb"), "a b");
}

// Tests every character after a letter, before a mark and on its own. Normalizing the parts of a text that is
// cut where characters stand alone must give the same result as normalizing the whole.
TEST(Normalize, CutsFormCWhereNothingJoins) {
  for (char32_t c = 1; c < 0x30000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text = "o";
    base::append_utf8(c, text);
    text += "\u0301\u1161";
    base::append_utf8(c, text);
    utf8proc_uint8_t* whole = nullptr;
    const auto size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                   static_cast<utf8proc_ssize_t>(text.size()), &whole,
                                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    ASSERT_GE(size, 0);
    const std::string expected(reinterpret_cast<const char*>(whole), static_cast<std::size_t>(size));
    std::free(whole);
    ASSERT_EQ(nfc(text), expected) << "U+" << std::hex << static_cast<unsigned>(c);
  }
}

}  // namespace
}  // namespace kvasir::text
