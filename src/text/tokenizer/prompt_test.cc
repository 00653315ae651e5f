#include "text/tokenizer/prompt.h"

#include <gtest/gtest.h>

namespace kvasir::text {
namespace {

Prompt sample() {
  Prompt prompt;
  prompt.append_literal("ab");
  prompt.append_input("cd");
  prompt.append_input("ef");
  prompt.append_literal("gh");
  prompt.append_input("ij");
  return prompt;
}

TEST(Prompt, JoinsNeighbouringMarks) {
  EXPECT_EQ(sample().text, "abcdefghij");
  EXPECT_EQ(sample().from_input, (std::vector<Range>{{2, 6}, {8, 10}}));
  Prompt twice = sample();
  twice.append(sample());
  EXPECT_EQ(twice.from_input, (std::vector<Range>{{2, 6}, {8, 10}, {12, 16}, {18, 20}}));
}

TEST(Prompt, EverySliceKeepsItsMarks) {
  const Prompt prompt = sample();
  for (std::size_t begin = 0; begin <= prompt.text.size(); ++begin) {
    for (std::size_t end = begin; end <= prompt.text.size(); ++end) {
      const Prompt part = prompt.slice(begin, end);
      EXPECT_EQ(part.text, prompt.text.substr(begin, end - begin));
      for (std::size_t i = 0; i < part.text.size(); ++i) {
        EXPECT_EQ(part.touches_input(i, i + 1), prompt.touches_input(begin + i, begin + i + 1));
      }
      EXPECT_EQ(part.has_input(), begin < end && prompt.touches_input(begin, end));
    }
  }
}

}  // namespace
}  // namespace kvasir::text
