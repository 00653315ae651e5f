#include "text/tokenizer/scanner.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "text/tokenizer/pattern.h"
#include "text/tokenizer/regex.h"

namespace kvasir::text {
namespace {

constexpr const char* kPatterns[] = {
    kGpt2Pattern,     kQwen2Pattern,       kQwen35Pattern, kLlama3Pattern,      kO200kPattern, kTekkenPattern,
    kDeepSeekPattern, kDeepSeekHanPattern, kDigitPattern,  kThreeDigitsPattern, kSpacesPattern};

std::vector<Range> by_regex(const Regex& regex, std::string_view text) {
  std::vector<Range> matches;
  Regex::Search search(regex, text);
  while (const auto match = search.next()) matches.push_back(*match);
  return matches;
}

std::vector<Range> by_scanner(const char* pattern, std::string_view text) {
  CHECK(Scanner::of(pattern).has_value());
  std::vector<Range> matches;
  Pattern::regex(pattern).value().for_each_match(text, [&](Range match) { matches.push_back(match); });
  return matches;
}

// Returns a random sequence of words, contractions, numbers, marks, and all kinds of spaces and line ends.
std::string random_text(std::mt19937& random) {
  static const char* const kPieces[] = {
      "a",    "B",      "the",    "\u00C9",  "\u0301", "\u01C5", "\u02B0",    "\u4E2D",     "\u3042",
      "'s",   "'S",     "'re",    "'LL",     "'lL",    "'",      "'x",        "\u017F",     "'\u017F",
      "1",    "23",     "\u00B2", "\u0966",  "\u2167", " ",      "  ",        "\t",         "\n",
      "\r\n", "\r",     "\u00A0", "\u3000",  "\u0085", "\u2028", "\u180E",    ".",          "!?",
      "/",    "//",     "_",      "-",       "$",      "\u20AC", "\u3002",    "\U0001F600", "\u200D",
      "\x01", "\u0903", "\u20DD", "X\u0301", "\u0645", "\u0995", "\U0001D400"};
  static const std::pair<char32_t, char32_t> kBlocks[] = {
      {0x20, 0x7E},   {0xA0, 0x24F},    {0x300, 0x36F},   {0x391, 0x3C9},    {0x400, 0x4FF},
      {0x905, 0x939}, {0x4E00, 0x9FA5}, {0xAC00, 0xD7A3}, {0x1F300, 0x1F5FF}};
  std::string text;
  const auto upto = [&random](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  for (std::size_t left = 1 + upto(14); left > 0; --left) {
    if (upto(4) > 0) {
      text += kPieces[upto(std::size(kPieces))];
    } else {
      const auto [first, last] = kBlocks[upto(std::size(kBlocks))];
      base::append_utf8(first + static_cast<char32_t>(upto(last - first + 1)), text);
    }
  }
  return text;
}

TEST(Scanner, EqualsItsRegularExpression) {
  std::mt19937 random(1);
  for (const char* pattern : kPatterns) {
    const Regex regex = Regex::compile(pattern).value();
    for (int i = 0; i < 20'000; ++i) {
      const std::string text = random_text(random);
      ASSERT_EQ(by_scanner(pattern, text), by_regex(regex, text)) << pattern << "\non: " << text;
    }
  }
}

TEST(Scanner, KnowsOnlyExactPatterns) {
  EXPECT_TRUE(Scanner::of(kLlama3Pattern).has_value());
  EXPECT_FALSE(Scanner::of(std::string(kLlama3Pattern) + "|x").has_value());
  EXPECT_FALSE(Scanner::of("").has_value());
  // In DeepSeek's file the pattern has real line ends.
  std::string raw = kDeepSeekPattern;
  for (std::size_t at = 0; (at = raw.find("\\r\\n", at)) != std::string::npos;) raw.replace(at, 4, "\r\n");
  EXPECT_TRUE(Scanner::of(raw).has_value());
}

// A megabyte of text that begins every alternative and completes none. Quadratic time would be hours.
TEST(Scanner, IsLinearInHostileText) {
  for (const char* pattern : kPatterns) {
    for (const char* unit :
         {"a", "A", " ", "\n", "1", "'", "\u0301", "\u4E2D", "\x01", "A\u4E2D", " \n", "'l", " ."}) {
      std::string text;
      while (text.size() < (1 << 20)) text += unit;
      const auto matches = by_scanner(pattern, text);
      ASSERT_LE(matches.size(), text.size());
    }
  }
}

}  // namespace
}  // namespace kvasir::text
