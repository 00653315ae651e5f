#include "text/tokenizer/pre_tokenizer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kvasir::text {
namespace {

using Pieces = std::vector<std::string>;

using Place = PreTokenizer::Place;

Pieces split(const PreTokenizer& pre_tokenizer, const std::string& text, Place place = Place::start) {
  Pieces pieces;
  pre_tokenizer.for_each_word(text, place, [&](std::string_view word) {
    pieces.emplace_back(word);
    return true;
  });
  return pieces;
}

Pieces split(const char* pattern, SplitBehavior behavior, const std::string& text) {
  PreTokenizer pre_tokenizer;
  pre_tokenizer.add(SplitStep{.pattern = Pattern::regex(pattern).value(), .behavior = behavior});
  return split(pre_tokenizer, text);
}

TEST(PreTokenizer, SplitsAsHuggingFaceDocuments) {
  const std::string text = "the-final--countdown";
  EXPECT_EQ(split("-", SplitBehavior::removed, text), (Pieces{"the", "final", "countdown"}));
  EXPECT_EQ(split("-", SplitBehavior::isolated, text), (Pieces{"the", "-", "final", "-", "-", "countdown"}));
  EXPECT_EQ(split("-", SplitBehavior::merged_with_previous, text),
            (Pieces{"the-", "final-", "-", "countdown"}));
  EXPECT_EQ(split("-", SplitBehavior::merged_with_next, text), (Pieces{"the", "-final", "-", "-countdown"}));
  EXPECT_EQ(split("-", SplitBehavior::contiguous, text), (Pieces{"the", "-", "final", "--", "countdown"}));
  EXPECT_EQ(split("x*", SplitBehavior::isolated, "axxb"), (Pieces{"a", "xx", "b"}));
}

Pieces split_as(const char* name, const std::string& text) {
  return split(preparation_named(name).value().pre_tokenizer, text);
}

TEST(PreTokenizer, KnowsTheModelsSplits) {
  EXPECT_EQ(split_as("gpt-2", "I'm  here, 123!\n"),
            (Pieces{"I", "'m", " ", " here", ",", " 123", "!", "\n"}));
  EXPECT_EQ(split_as("smollm", "a 123"), (Pieces{"a", " ", "1", "2", "3"}));
  EXPECT_EQ(split_as("qwen2", "I'M 123\n\nx"), (Pieces{"I", "'M", " ", "1", "2", "3", "\n\n", "x"}));
  EXPECT_EQ(split_as("llama-bpe", "1234 (x)"), (Pieces{"123", "4", " (", "x", ")"}));
  EXPECT_EQ(split_as("gpt-4o", "camelCase"), (Pieces{"camel", "Case"}));
  EXPECT_FALSE(preparation_named("no such").ok());
}

// U+180E was once a space. PCRE2's \s still matches it, and Hugging Face's engine does not.
TEST(PreTokenizer, TakesSpaceAsHuggingFaceDoes) {
  EXPECT_EQ(split(R"(\s+)", SplitBehavior::isolated, "a\u180Eb\u3000\u0085c"),
            (Pieces{"a\u180Eb", "\u3000\u0085", "c"}));
  EXPECT_EQ(split(R"([\s,]+)", SplitBehavior::removed, "a, \u00A0b"), (Pieces{"a", "b"}));
  EXPECT_EQ(split(R"(\S+)", SplitBehavior::isolated, "a b"), (Pieces{"a", " ", "b"}));
}

TEST(Regex, SaysWhatItDoesNotTake) {
  const auto regex = Regex::compile("(unclosed");
  ASSERT_FALSE(regex.ok());
  EXPECT_NE(regex.error().message.find("(unclosed"), std::string::npos);
}

// $ and ^ match at the ends of every line. \w matches marks, but no numbers except decimal ones.
TEST(Regex, ReadsPatternsAsHuggingFacesEngineDoes) {
  EXPECT_EQ(split("b$", SplitBehavior::isolated, "ab\nbc"), (Pieces{"a", "b", "\nbc"}));
  EXPECT_EQ(split(R"(\w+)", SplitBehavior::removed, "ae\u0301_1\u00B2,"), (Pieces{"\u00B2,"}));
  EXPECT_EQ(split(R"([\w,]+)", SplitBehavior::removed, "ab,\u0301;"), (Pieces{";"}));
  EXPECT_EQ(split(R"(\W+)", SplitBehavior::removed, "ab, c"), (Pieces{"ab", "c"}));
}

TEST(PreTokenizer, MarksSpaces) {
  using Prefix = SpaceMarkStep::Prefix;
  const auto marked = [](Prefix prefix, bool split_marks, const std::string& text, Place place) {
    PreTokenizer pre_tokenizer;
    pre_tokenizer.add(SpaceMarkStep{.mark = "_", .prefix = prefix, .split = split_marks});
    return split(pre_tokenizer, text, place);
  };
  EXPECT_EQ(marked(Prefix::always, true, "a b  c", Place::inside), (Pieces{"_a", "_b", "_", "_c"}));
  EXPECT_EQ(marked(Prefix::always, true, " a_b", Place::inside), (Pieces{"_a", "_b"}));
  EXPECT_EQ(marked(Prefix::first, false, "a b", Place::inside), (Pieces{"a_b"}));
  EXPECT_EQ(marked(Prefix::first, false, "a b", Place::start), (Pieces{"_a_b"}));
  EXPECT_EQ(marked(Prefix::never, true, "a b", Place::start), (Pieces{"a", "_b"}));
}

TEST(PreTokenizer, PutsASpaceFirst) {
  PreTokenizer pre_tokenizer;
  pre_tokenizer.add(SplitStep{.pattern = Pattern::literal("-"), .behavior = SplitBehavior::removed});
  pre_tokenizer.add(PrefixSpaceStep{});
  EXPECT_EQ(split(pre_tokenizer, "a- b-c"), (Pieces{" a", " b", " c"}));
}

TEST(PreTokenizer, StopsWhenToldTo) {
  const PreTokenizer pre_tokenizer = preparation_named("qwen2").value().pre_tokenizer;
  int num_words = 0;
  pre_tokenizer.for_each_word("a b c d", Place::start, [&](std::string_view) { return ++num_words < 2; });
  EXPECT_EQ(num_words, 2);
}

}  // namespace
}  // namespace kvasir::text
