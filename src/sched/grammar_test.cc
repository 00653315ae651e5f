#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "grammar/grammar_compiler.h"
#include "sched/scheduler.h"

namespace kvasir::sched {
namespace {

constexpr TokenId kEnd = 256;

// The vocabulary has every byte and words of four letters. `tokenize` prefers the words.
std::shared_ptr<const grammar::TokenTrie> make_trie() {
  grammar::TokenTrie::Vocabulary vocabulary;
  for (int b = 0; b < 256; ++b) vocabulary.token_bytes.emplace_back(1, static_cast<char>(b));
  vocabulary.token_bytes.emplace_back("</s>");
  vocabulary.end = {kEnd};
  vocabulary.token_bytes.emplace_back("abcd");
  vocabulary.tokenize = [](std::string_view text) {
    std::vector<TokenId> tokens;
    while (!text.empty()) {
      const bool word = text.starts_with("abcd");
      tokens.push_back(word ? 257 : static_cast<unsigned char>(text.front()));
      text.remove_prefix(word ? 4 : 1);
    }
    return tokens;
  };
  return std::make_shared<const grammar::TokenTrie>(std::move(vocabulary));
}

class GrammarTest : public testing::Test {
 protected:
  SequenceId submit(const std::string& regex, int max_tokens = 100, int min_tokens = 0) {
    auto compiled = compiler_.compile({.kind = grammar::GrammarSource::Kind::regex, .text = regex});
    CHECK(compiled.ok(), "{}", compiled.error().message);
    wire::GenerateRequest request;
    request.prompt = {1, 2, 3};
    request.max_tokens = max_tokens;
    request.min_tokens = min_tokens;
    request.stop_tokens = {kEnd};
    request.sampling.logprobs = logprobs_;
    request.grammar = *compiled;
    return scheduler_.submit(std::move(request)).value();
  }

  // Runs a step in which the runner draws this token.
  wire::TokenEvent step(TokenId token) {
    const StepPlan plan = scheduler_.plan();
    CHECK(plan.slices.size() == 1);
    num_rows_ += plan.slices[0].num_rows;
    EXPECT_TRUE(plan.slices[0].wants_token());
    EXPECT_NE(plan.slices[0].matcher, nullptr);
    StepResult result;
    result.outcomes.push_back({.token = wire::Token{.id = token}});
    auto events = scheduler_.commit(plan, std::move(result));
    CHECK(events.size() == 1);
    return std::move(events[0].event);
  }

  static std::vector<TokenId> ids(const wire::TokenEvent& event) {
    std::vector<TokenId> out;
    for (const wire::Token& token : event.tokens) out.push_back(token.id);
    return out;
  }

  grammar::GrammarCompiler compiler_{make_trie()};
  Scheduler scheduler_{{.num_blocks = 32}};
  bool logprobs_ = false;
  int num_rows_ = 0;
};

TEST_F(GrammarTest, WhatIsForcedIsKnownAtOnceAndFedInOneStep) {
  submit("(?:x|y)abcdabcd[0-9]z");
  const wire::TokenEvent first = step('x');
  // The last token of the forced text is sampled, since a longer token could begin with it.
  EXPECT_EQ(ids(first), (std::vector<TokenId>{'x', 257}));
  EXPECT_EQ(first.usage.output_tokens, 2);
  EXPECT_FALSE(first.last());
  EXPECT_EQ(ids(step(257)), (std::vector<TokenId>{257}));
  EXPECT_EQ(num_rows_, 3 + 2);
  const wire::TokenEvent last = step('7');
  EXPECT_EQ(ids(last), (std::vector<TokenId>{'7', 'z'}));
  EXPECT_EQ(last.finish, wire::FinishReason::stop);  // nothing can follow, so the model is not asked
  EXPECT_TRUE(scheduler_.idle());
  EXPECT_EQ(scheduler_.pool().num_available(), 32);
}

TEST_F(GrammarTest, EveryTokenIsSampledWhereItsProbabilityIsWanted) {
  logprobs_ = true;
  submit("xabcd");
  EXPECT_EQ(ids(step('x')), (std::vector<TokenId>{'x'}));
  EXPECT_EQ(ids(step(257)), (std::vector<TokenId>{257}));
  EXPECT_TRUE(scheduler_.idle());
}

TEST_F(GrammarTest, ForcedTokensCountAgainstTheLimit) {
  submit("xabcdabcdabcdabcd", 3);
  const wire::TokenEvent event = step('x');
  EXPECT_EQ(ids(event), (std::vector<TokenId>{'x', 257, 257}));
  EXPECT_EQ(event.finish, wire::FinishReason::length);
}

TEST_F(GrammarTest, AnEndTokenEndsOnlyWhatIsComplete) {
  submit("a+");
  EXPECT_EQ(ids(step('a')), (std::vector<TokenId>{'a'}));
  const wire::TokenEvent end = step(kEnd);
  EXPECT_TRUE(end.tokens.empty());
  EXPECT_EQ(end.finish, wire::FinishReason::stop);
}

// If the grammar can only end, the answer ends, even before min_tokens.
TEST_F(GrammarTest, TheGrammarEndsBeforeTheLeastNumberOfTokens) {
  submit("ab?", 100, 50);
  step('a');
  EXPECT_EQ(step('b').finish, wire::FinishReason::stop);
  submit("a+", 100, 50);
  step('a');
  EXPECT_EQ(step(kEnd).finish, wire::FinishReason::stop);
}

// If the last allowed token completes the grammar, the answer is whole. If more could follow, it was cut.
TEST_F(GrammarTest, AWholeAnswerAtTheLimitIsNotCut) {
  submit("a[bc]", 2);
  step('a');
  EXPECT_EQ(step('b').finish, wire::FinishReason::stop);
  submit("a+", 2);
  step('a');
  EXPECT_EQ(step('a').finish, wire::FinishReason::length);
}

TEST_F(GrammarTest, ATokenOutsideTheGrammarFailsItsSequenceAlone) {
  submit("a+");
  step('a');
  const wire::TokenEvent event = step('b');
  ASSERT_TRUE(event.error);
  EXPECT_EQ(event.error->code, base::ErrorCode::internal);
  EXPECT_TRUE(scheduler_.idle());
  EXPECT_EQ(scheduler_.stats().num_failed, 1);
}

// A preempted sequence goes on where it was.
TEST_F(GrammarTest, PreemptionKeepsThePlaceInTheGrammar) {
  Scheduler small({.num_blocks = 4, .target_step_s = 0, .prefix_cache = false});
  const auto compiled =
      *compiler_.compile({.kind = grammar::GrammarSource::Kind::regex, .text = "[ab]{40}c"});
  const auto submit_to = [&](int priority) {
    wire::GenerateRequest request;
    request.prompt = {1, 2, 3};
    request.max_tokens = 42;
    request.priority = priority;
    request.grammar = compiled;
    return small.submit(std::move(request)).value();
  };
  submit_to(1);
  submit_to(0);
  int num_finished = 0;
  for (int i = 0; i < 400 && !small.idle(); ++i) {
    const StepPlan plan = small.plan();
    StepResult result;
    for (const StepPlan::Slice& slice : plan.slices) {
      auto& outcome = result.outcomes.emplace_back();
      if (slice.wants_token()) outcome.token = wire::Token{.id = i % 2 == 0 ? 'a' : 'b'};
    }
    for (const SequenceEvent& event : small.commit(plan, std::move(result))) {
      EXPECT_FALSE(event.event.error);
      num_finished += event.event.finish == wire::FinishReason::stop ? 1 : 0;
    }
  }
  EXPECT_EQ(num_finished, 2);
  EXPECT_GT(small.stats().num_preemptions, 0);
}

}  // namespace
}  // namespace kvasir::sched
