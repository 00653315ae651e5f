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
  for (const std::string name : {"chat", "shared-prefix", "multi-turn", "long-prompt"})
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

}  // namespace
}  // namespace kvasir::bench
