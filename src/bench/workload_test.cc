#include "bench/workload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace kvasir::bench {
namespace {

int words_of(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), ' ')) + 1;
}

std::string beginning(const std::string& text) {
  std::size_t at = 0;
  for (int i = 0; i < 8 && at != std::string::npos; ++i) at = text.find(' ', at + 1);
  return text.substr(0, at);
}

TEST(Workload, NamesGoBothWays) {
  for (const std::string name :
       {"chat", "shared-prefix", "multi-turn", "long-prompt", "mixed", "burst", "prefix", "long"})
    EXPECT_EQ(name_of(parse_workload(name).value()), name);
  EXPECT_FALSE(parse_workload("chats").ok());
}

TEST(Workload, NoTwoPromptsBeginAlike) {
  const WorkloadOptions options{.seed = 3};
  std::set<std::string> beginnings;
  for (int phase = 1; phase <= 3; ++phase)
    for (std::uint64_t i = 0; i < 500; ++i)
      beginnings.insert(beginning(make_conversation(options, {}, phase, i).turns[0].text));
  EXPECT_EQ(beginnings.size(), 1500u);
}

TEST(Workload, IsTheSameForTheSameSeed) {
  const WorkloadOptions options{.vary = 0.5, .seed = 3};
  const Conversation a = make_conversation(options, {}, 1, 5);
  const Conversation b = make_conversation(options, {}, 1, 5);
  EXPECT_EQ(a.turns[0].text, b.turns[0].text);
  EXPECT_EQ(a.turns[0].output_tokens, b.turns[0].output_tokens);
}

TEST(Workload, LengthsFollowTheServersTokens) {
  const WorkloadOptions options{.input_tokens = 200, .output_tokens = 64};
  const TokenScale scale{.tokens_per_word = 1.25, .overhead_tokens = 30};
  const Conversation one = make_conversation(options, scale, 1, 0);
  EXPECT_EQ(words_of(one.turns[0].text), 136);  // (200 - 30) / 1.25
  EXPECT_EQ(one.turns[0].output_tokens, 64);
}

TEST(Workload, VariesWithinItsShare) {
  const WorkloadOptions options{.input_tokens = 100, .vary = 0.2};
  std::set<int> lengths;
  for (std::uint64_t i = 0; i < 300; ++i)
    lengths.insert(words_of(make_conversation(options, {}, 1, i).turns[0].text));
  EXPECT_GE(*lengths.begin(), 80);
  EXPECT_LE(*lengths.rbegin(), 120);
  EXPECT_GT(lengths.size(), 20u);
}

TEST(Workload, SharesPrefixesByGroupWithinAPhaseOnly) {
  const WorkloadOptions options{
      .kind = WorkloadKind::shared_prefix, .prefix_tokens = 40, .prefix_groups = 2, .seed = 1};
  const auto prefix = [&](int phase, std::uint64_t index) {
    const Conversation one = make_conversation(options, {}, phase, index);
    EXPECT_EQ(one.opening.size(), 1u);
    EXPECT_EQ(one.opening[0].role, "system");
    return one.opening[0].content;
  };
  EXPECT_EQ(words_of(prefix(1, 0)), 40);
  EXPECT_EQ(prefix(1, 0), prefix(1, 2));
  EXPECT_NE(prefix(1, 0), prefix(1, 1));
  EXPECT_NE(prefix(1, 0), prefix(2, 0));
}

TEST(Workload, HasTurnsAndLongPrompts) {
  const WorkloadOptions turns{.kind = WorkloadKind::multi_turn, .turns = 3};
  EXPECT_EQ(make_conversation(turns, {}, 1, 0).turns.size(), 3u);
  const WorkloadOptions longs{
      .kind = WorkloadKind::long_prompt, .input_tokens = 10, .long_tokens = 100, .long_every = 4};
  for (std::uint64_t i = 0; i < 8; ++i)
    EXPECT_EQ(words_of(make_conversation(longs, {}, 1, i).turns[0].text), i % 4 == 3 ? 100 : 10);
}

TEST(Workload, MixedLengthsAreLognormalAroundTheirMedians) {
  const WorkloadOptions options{
      .kind = WorkloadKind::mixed, .input_tokens = 200, .output_tokens = 150, .spread = 0.8};
  int num_short = 0, num_over_twice = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const QuestionShape shape = question_shape(options, 1, i);
    num_short += shape.input_tokens < 200 ? 1 : 0;
    num_over_twice += shape.output_tokens > 300 ? 1 : 0;
    EXPECT_GE(shape.input_tokens, 1);
    EXPECT_LE(shape.input_tokens, 16 * 200);
  }
  EXPECT_NEAR(num_short, 1000, 80);
  EXPECT_NEAR(num_over_twice, 2000 * 0.193, 60);  // twice the median is ln 2 / 0.8 deviations above it
}

TEST(Workload, OneLongPromptAmongChats) {
  const WorkloadOptions options{.kind = WorkloadKind::long_one, .long_tokens = 5000, .long_every = 8};
  int num_long = 0;
  for (std::uint64_t i = 0; i < 100; ++i)
    num_long += question_shape(options, 1, i).input_tokens == 5000 ? 1 : 0;
  EXPECT_EQ(num_long, 1);
  EXPECT_EQ(question_shape(options, 1, 7).input_tokens, 5000);
}

TEST(Workload, PrefixesAreSharedWithinAGroup) {
  const WorkloadOptions options{.kind = WorkloadKind::prefix, .prefix_tokens = 40, .prefix_groups = 4};
  const auto system_of = [&](int phase, std::uint64_t index) {
    return make_conversation(options, {}, phase, index).opening.at(0).content;
  };
  EXPECT_EQ(system_of(1, 1), system_of(1, 5));
  EXPECT_NE(system_of(1, 1), system_of(1, 2));
  EXPECT_NE(system_of(1, 1), system_of(2, 1));
}

}  // namespace
}  // namespace kvasir::bench
