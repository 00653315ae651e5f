#include "text/pre_tokenizer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kvasir::text {
namespace {

using Pieces = std::vector<std::string>;

Pieces split(const PreTokenizer& pre_tokenizer, const std::string& text) {
  std::vector<std::string_view> pieces;
  pre_tokenizer.split(text, pieces);
  return {pieces.begin(), pieces.end()};
}

Pieces split(const char* pattern, SplitBehavior behavior, const std::string& text) {
  PreTokenizer pre_tokenizer;
  pre_tokenizer.add({.pattern = Regex::compile(pattern).value(), .behavior = behavior});
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

// U+180E was a space once: PCRE2's \s still takes it, Hugging Face's engine does not.
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

TEST(Regex, EscapesEveryByte) {
  const std::string text = "a.b*[\\]\n\u00E9";
  EXPECT_EQ(split(Regex::escape(text).c_str(), SplitBehavior::isolated, "x" + text + "y"),
            (Pieces{"x", text, "y"}));
}

}  // namespace
}  // namespace kvasir::text
