#include "api/answer/delta/choice.h"

#include <gtest/gtest.h>

#include <random>
#include <tuple>

#include "router/scripted_model.h"

namespace kvasir::api {
namespace {

using router::byte_tokens;
using wire::FinishReason;

struct Answer {
  std::string text;
  std::vector<std::tuple<TokenId, float, std::size_t>> lines;
  std::optional<FinishReason> finish;
  int output_tokens = 0;
  bool operator==(const Answer&) const = default;
};

Choice::Stops stops_at(std::vector<std::string> strings, int min_tokens = 0) {
  return {.patterns = std::make_shared<const text::StopPatterns>(std::move(strings)),
          .min_tokens = min_tokens};
}

// Feeds each byte of the text as a token, in events that end at `cuts`, and then the end of the sequence.
Answer run(const std::string& text, const Choice::Stops& stops, const std::vector<std::size_t>& cuts) {
  Choice choice(0, router::byte_tokenizer(), stops);
  Answer answer;
  const auto push = [&](wire::TokenEvent event) {
    if (choice.finished()) return;
    const Delta delta = choice.push(event);
    answer.text += delta.text;
    for (const TokenLine& line : delta.lines)
      answer.lines.emplace_back(line.id, line.logprob->logprob, line.text_offset);
    answer.finish = delta.finish;
  };
  std::vector<wire::Token> tokens = byte_tokens(text);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    tokens[i].logprob = wire::TokenLogprob{.logprob = -static_cast<float>(i)};
  std::size_t begin = 0;
  for (const std::size_t end : cuts) {
    push({.tokens = {tokens.begin() + static_cast<std::ptrdiff_t>(begin),
                     tokens.begin() + static_cast<std::ptrdiff_t>(end)},
          .usage = {.prompt_tokens = 3, .output_tokens = static_cast<int>(end)}});
    begin = end;
  }
  push({.tokens = {tokens.begin() + static_cast<std::ptrdiff_t>(begin), tokens.end()},
        .finish = FinishReason::length,
        .usage = {.prompt_tokens = 3, .output_tokens = static_cast<int>(text.size())}});
  answer.output_tokens = choice.usage().output_tokens;
  return answer;
}

TEST(Choice, TextOfAllTokens) {
  const Answer answer = run("Hé, wörld ✓", {}, {2, 3, 9});
  EXPECT_EQ(answer.text, "Hé, wörld ✓");
  EXPECT_EQ(answer.finish, FinishReason::length);
  EXPECT_EQ(answer.lines.size(), std::string("Hé, wörld ✓").size());
}

TEST(Choice, EndsBeforeAStopString) {
  const Answer answer = run("one two three", stops_at({"three", "o t"}), {1, 4, 6});
  EXPECT_EQ(answer.text, "one tw");
  EXPECT_EQ(answer.finish, FinishReason::stop);
  EXPECT_EQ(answer.lines.size(), 6u);
  EXPECT_EQ(answer.output_tokens, 9);  // the tokens of the stop string count
}

TEST(Choice, MinTokensPutStopStringsOff) {
  EXPECT_EQ(run("a.b.c.d", stops_at({"."}, 3), {}).text, "a.b");
}

TEST(Choice, CutOffCharacterIsReplacedAtTheEnd) {
  EXPECT_EQ(run("ab\xE2\x9C", {}, {}).text, "ab\xEF\xBF\xBD");
}

TEST(Choice, OffsetsCountCharacters) {
  const Answer answer = run("é✓x", {}, {});
  EXPECT_EQ(std::get<2>(answer.lines[2]), 1u);  // after é
  EXPECT_EQ(std::get<2>(answer.lines[5]), 2u);  // after ✓
}

TEST(Choice, IdsOutsideTheVocabularyHaveNoText) {
  Choice choice(0, router::byte_tokenizer(), {});
  EXPECT_EQ(choice.push({.tokens = {{.id = 100000}, {.id = 'x'}}}).text, "x");
}

// An answer does not depend on how its tokens are cut into events. The pieces of a stream make the whole
// answer.
TEST(Choice, CuttingEventsChangesNothing) {
  std::mt19937 random(7);
  const std::vector<std::string> texts = {"Hé, wörld ✓ stop here", "ababac", "✓✓✗✓", "aaaaaaab",
                                          "no stop at all"};
  const std::vector<Choice::Stops> stops = {
      {}, stops_at({"stop"}), stops_at({"abac", "✗"}), stops_at({"aab", "é,"}), stops_at({"✓✗"})};
  for (const std::string& text : texts)
    for (const Choice::Stops& stop : stops) {
      const Answer whole = run(text, stop, {});
      for (std::size_t cut = 0; cut <= text.size(); ++cut) EXPECT_EQ(run(text, stop, {cut}), whole);
      for (int i = 0; i < 50; ++i) {
        std::vector<std::size_t> cuts;
        for (std::size_t at = 0; at < text.size(); ++at)
          if (random() % 3 == 0) cuts.push_back(at);
        EXPECT_EQ(run(text, stop, cuts), whole);
      }
    }
}

}  // namespace
}  // namespace kvasir::api
