#include "grammar/regex.h"

#include <gtest/gtest.h>

#include "grammar/char_dfa.h"
#include "grammar/pushdown.h"

namespace kvasir::grammar {
namespace {

bool run(const Grammar& grammar, std::string_view text) {
  auto automaton = Automaton::build(grammar);
  CHECK(automaton.ok(), "{}", automaton.error().message);
  Pushdown pushdown(*automaton, {});
  ConfigId c = pushdown.start();
  for (const char b : text) {
    if (c == Pushdown::kDead) return false;
    c = pushdown.step(c, static_cast<std::uint8_t>(b));
  }
  return pushdown.is_complete(c);
}

bool whole(std::string_view pattern, std::string_view text) {
  auto grammar = grammar_of_regex(pattern);
  CHECK(grammar.ok(), "{}", grammar.error().message);
  return run(*grammar, text);
}

// Matches with the automaton over bytes and with the one over characters, which must agree.
bool anywhere(std::string_view pattern, std::string_view text) {
  auto regex = parse_regex(pattern, RegexExtent::anywhere);
  CHECK(regex.ok(), "{}", regex.error().message);
  Grammar grammar;
  const RuleId root = grammar.add_rule("root");
  grammar.define(root, regex_node(grammar, *regex, CharEncoding::plain));
  const bool matches = run(grammar, text);
  auto dfa = CharDfa::make({.match = {&*regex}});
  CHECK(dfa.ok(), "{}", dfa.error().message);
  EXPECT_EQ(dfa->matches(text), matches) << pattern << " on " << text;
  Grammar again;
  const RuleId root2 = again.add_rule("root");
  again.define(root2, dfa->emit(again, CharEncoding::plain));
  EXPECT_EQ(run(again, text), matches) << pattern << " on " << text;
  return matches;
}

TEST(Regex, Syntax) {
  EXPECT_TRUE(whole("a|bc*", "bccc"));
  EXPECT_FALSE(whole("a|bc*", "ac"));
  EXPECT_TRUE(whole("(?:ab){2,3}", "abab"));
  EXPECT_FALSE(whole("(?:ab){2,3}", "abababab"));
  EXPECT_TRUE(whole("(?<year>\\d{4})-\\d\\d?", "2026-1"));
  EXPECT_TRUE(whole("[^a-c\\d]+", "xyz-"));
  EXPECT_FALSE(whole("[^a-c\\d]+", "x1"));
  EXPECT_TRUE(whole("\\x41\\u0042\\u{43}\\n", "ABC\n"));
  EXPECT_TRUE(whole(".", "\xF0\x9F\x98\x80"));
  EXPECT_FALSE(whole(".", "\n"));
  EXPECT_TRUE(whole("[а-я]+", "кот"));
  EXPECT_FALSE(whole("[а-я]+", "cat"));
  EXPECT_TRUE(whole("[\\]\\-x]*", "]-x"));
  EXPECT_TRUE(whole("a{x", "a{x"));
  EXPECT_TRUE(whole("(|a)b", "b"));
  EXPECT_TRUE(whole("a+?b*?", "aab"));
  EXPECT_TRUE(whole("^abc$", "abc"));
  EXPECT_TRUE(whole("\\uD83D\\uDE00", "\xF0\x9F\x98\x80"));
}

TEST(Regex, InvalidUtf8IsNeverACharacter) {
  EXPECT_FALSE(whole("[^x]*", "\xFF"));
  EXPECT_FALSE(whole("[^x]*", "\xC0\x80"));          // overlong
  EXPECT_FALSE(whole("[^x]*", "\xED\xA0\x80"));      // a surrogate
  EXPECT_FALSE(whole("[^x]*", "\xF4\x90\x80\x80"));  // past the last character
  EXPECT_TRUE(whole("[^x]*", "\xF4\x8F\xBF\xBF\xED\x9F\xBF\xC2\x80"));
}

TEST(Regex, AnchorsAndWhatIsAround) {
  EXPECT_TRUE(anywhere("foo", "a foo b"));
  EXPECT_FALSE(anywhere("^foo", "a foo"));
  EXPECT_TRUE(anywhere("^foo", "foo b"));
  EXPECT_TRUE(anywhere("foo$", "a foo"));
  EXPECT_FALSE(anywhere("^foo$", "foo "));
  EXPECT_TRUE(anywhere("^a|b$", "axx"));
  EXPECT_TRUE(anywhere("^a|b$", "xxb"));
  EXPECT_FALSE(anywhere("^a|b$", "xxa"));
  EXPECT_TRUE(anywhere("(^|,)x", "a,x"));
  EXPECT_FALSE(anywhere("(^|,)x", "ax"));
  EXPECT_TRUE(anywhere("^(a|b)$", "b"));
  EXPECT_TRUE(anywhere("x(,|$)", "ax"));
  EXPECT_TRUE(anywhere("", "anything"));
  EXPECT_TRUE(anywhere("^$", ""));
  EXPECT_FALSE(anywhere("^$", "x"));
}

TEST(Regex, WhatIsNotSupportedIsNamed) {
  const auto code_of = [](std::string_view pattern) {
    const auto regex = parse_regex(pattern, RegexExtent::whole);
    return regex.ok() ? "ok" : regex.error().code == base::ErrorCode::unsupported ? "unsupported" : "invalid";
  };
  for (const char* pattern :
       {"(?=a)", "(?!a)", "(?<=a)b", "(?<!a)b", "\\bword", "(a)\\1", "\\p{L}", "a^b", "(?i)a"}) {
    EXPECT_STREQ(code_of(pattern), "unsupported") << pattern;
  }
  for (const char* pattern : {"(a", "a)", "[a", "*a", "a**", "a{3,2}", "\\", "[z-a]", "\\u12", "\\q", "^*"}) {
    EXPECT_STREQ(code_of(pattern), "invalid") << pattern;
  }
  const auto deep = parse_regex(std::string(10'000, '('), RegexExtent::whole);
  ASSERT_FALSE(deep.ok());
  EXPECT_EQ(deep.error().code, base::ErrorCode::too_large);
}

// Each alternative with an anchor becomes a copy of the whole sequence.
TEST(Regex, CopiesForAnchorsAreBounded) {
  const auto pattern = [](int num_alternatives, std::size_t num_literals) {
    std::string text = "(?:^a";
    for (int i = 1; i < num_alternatives; ++i) text += "|^a";
    return text + ")" + std::string(num_literals, 'b');
  };
  for (const RegexExtent extent : {RegexExtent::whole, RegexExtent::anywhere}) {
    const auto large = parse_regex(pattern(3'571, 25'000), extent);
    ASSERT_FALSE(large.ok());
    EXPECT_EQ(large.error().code, base::ErrorCode::too_large);
    EXPECT_EQ(large.error().message, "the regular expression is too large");
    EXPECT_TRUE(parse_regex(pattern(100, 500), extent).ok());
  }
}

TEST(CharDfa, MeetsAllDemands) {
  const Regex lower = *parse_regex("^[a-z]+$", RegexExtent::anywhere);
  const Regex has_x = *parse_regex("x", RegexExtent::anywhere);
  const Regex has_y = *parse_regex("y", RegexExtent::anywhere);
  const CharDfa dfa = *CharDfa::make({.match = {&lower, &has_x},
                                      .not_match = {&has_y},
                                      .not_equal = {"axa"},
                                      .min_length = 2,
                                      .max_length = 3});
  EXPECT_TRUE(dfa.matches("ax"));
  EXPECT_TRUE(dfa.matches("axb"));
  EXPECT_FALSE(dfa.matches("x"));
  EXPECT_FALSE(dfa.matches("abxd"));
  EXPECT_FALSE(dfa.matches("xy"));
  EXPECT_FALSE(dfa.matches("aXx"));
  EXPECT_FALSE(dfa.matches("axa"));
  EXPECT_TRUE(CharDfa::make({.match = {&has_x}, .not_match = {&has_x}})->empty());
}

TEST(CharDfa, JsonTextIsQuotedAndEscaped) {
  const Regex any = *parse_regex("^[\"\\\\\\n\\x01é]+$", RegexExtent::anywhere);
  Grammar grammar;
  const RuleId root = grammar.add_rule("root");
  grammar.define(root, CharDfa::make({.match = {&any}})->emit(grammar, CharEncoding::json));
  EXPECT_TRUE(run(grammar, R"("\"\\\n\u0001é")"));
  EXPECT_FALSE(run(grammar, "\"\n\""));
  EXPECT_FALSE(run(grammar, R"("\u00e9")"));
}

TEST(CharDfa, TooLargeIsAnError) {
  const Regex blow_up = *parse_regex("^(a|b)*a(a|b){40}$", RegexExtent::anywhere);
  const auto dfa = CharDfa::make({.match = {&blow_up}, .min_length = 3});
  ASSERT_FALSE(dfa.ok());
  EXPECT_EQ(dfa.error().code, base::ErrorCode::too_large);
}

}  // namespace
}  // namespace kvasir::grammar
