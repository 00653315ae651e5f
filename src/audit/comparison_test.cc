#include "audit/comparison.h"

#include <gtest/gtest.h>

#include <utility>

namespace kvasir::audit {
namespace {

using Then = Comparison::Then;
using wire::FinishReason;

router::GivenAnswer answer_of(std::vector<TokenId> tokens, FinishReason finish, float temperature = 0) {
  router::GivenAnswer answer{.model = "m", .member = "a", .finish = finish};
  answer.request.prompt = {1, 2, 3};
  answer.request.max_tokens = 1000;
  answer.request.sampling.temperature = temperature;
  answer.request.resumed = std::move(tokens);
  return answer;
}

std::vector<TokenId> ones(std::size_t count) {
  return std::vector<TokenId>(count, 1);
}

// An event of a worker for which `second` was almost as likely as each token.
wire::TokenEvent says(const std::vector<TokenId>& tokens, TokenId second = 900, float behind = 3) {
  wire::TokenEvent event;
  for (const TokenId id : tokens)
    event.tokens.push_back({.id = id, .logprob = wire::TokenLogprob{-1, {{id, -1}, {second, -1 - behind}}}});
  return event;
}

wire::TokenEvent ended(wire::TokenEvent event, FinishReason finish) {
  event.finish = finish;
  return event;
}

TEST(Comparison, TheSameTokensAndEndAgree) {
  const auto answer = answer_of({5, 6, 7}, FinishReason::stop);
  Comparison comparison(answer);
  const wire::GenerateRequest request = comparison.request();
  EXPECT_EQ(request.prompt, answer.request.prompt);
  EXPECT_TRUE(request.resumed.empty());
  EXPECT_EQ(request.max_tokens, 4) << "one more than the answer has, to see that it ends";
  EXPECT_TRUE(request.sampling.logprobs);
  EXPECT_LT(request.priority, -1000);
  EXPECT_EQ(comparison.take(says({5, 6})), Then::more);
  EXPECT_EQ(comparison.take(says({7})), Then::more);
  EXPECT_EQ(comparison.take(ended({}, FinishReason::stop)), Then::over);
  EXPECT_FALSE(comparison.disagrees());
  EXPECT_TRUE(comparison.disputes().empty());
}

TEST(Comparison, ALongAnswerIsComparedInPart) {
  const auto answer = answer_of(ones(5000), FinishReason::stop);
  Comparison comparison(answer);
  EXPECT_EQ(comparison.request().max_tokens, int(Comparison::kMostTokens));
  EXPECT_EQ(comparison.take(says(ones(Comparison::kMostTokens))), Then::over);
  EXPECT_FALSE(comparison.disagrees());
}

TEST(Comparison, AnotherTokenFarFromTheAnswersIsADisagreement) {
  const auto answer = answer_of(ones(100), FinishReason::length);
  Comparison comparison(answer);
  EXPECT_EQ(comparison.take(says({1, 1, 8}, 1, 0.6F)), Then::over);
  EXPECT_TRUE(comparison.disagrees());
  ASSERT_EQ(comparison.disputes().size(), 1u);
  EXPECT_EQ(comparison.disputes()[0].at, 2u);
  EXPECT_EQ(comparison.disputes()[0].given, 1);
  EXPECT_EQ(comparison.disputes()[0].other, 8);
}

TEST(Comparison, ATokenThatIsNotAmongTheLikeliestIsFarIfTheseAre) {
  const auto answer = answer_of(ones(100), FinishReason::length);
  Comparison far(answer);
  EXPECT_EQ(far.take(says({8}, 9, 2)), Then::over);
  EXPECT_TRUE(far.disagrees());
  Comparison flat(answer);
  EXPECT_EQ(flat.take(says({8}, 9, 0.1F)), Then::ask_again) << "it may be the next one";
}

TEST(Comparison, NearTiesAreForgivenAFewTimes) {
  const auto answer = answer_of(ones(32), FinishReason::length);  // 1 + 32 / 16 disputes are allowed
  Comparison comparison(answer);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(comparison.take(says({1, 8, 8, 8}, 1, 0.4F)), Then::ask_again);
    EXPECT_EQ(comparison.request().resumed.size(), 2 * (i + 1)) << "it goes on with the answer's own token";
    EXPECT_EQ(comparison.request().max_tokens, 32);
  }
  EXPECT_FALSE(comparison.disagrees());
  EXPECT_EQ(comparison.take(says({8}, 1, 0.4F)), Then::over);
  EXPECT_TRUE(comparison.disagrees());
  EXPECT_EQ(comparison.disputes().size(), 4u);
}

TEST(Comparison, WhereTokensAreDrawnOnlyTheirNumberCounts) {
  auto answer = answer_of(ones(32), FinishReason::length, 1);
  Comparison drawn(answer);
  EXPECT_EQ(drawn.take(says({8}, 9, 20)), Then::ask_again);
  answer.request.sampling.temperature = 0;
  answer.request.sampling.presence_penalty = 1;
  Comparison penalized(answer);
  EXPECT_EQ(penalized.take(says({8}, 9, 20)), Then::ask_again);
}

TEST(Comparison, AnEndElsewhereIsADispute) {
  const auto answer = answer_of({5, 6}, FinishReason::stop);
  Comparison later(answer);
  EXPECT_EQ(later.take(says({5, 6, 7})), Then::over);
  ASSERT_EQ(later.disputes().size(), 1u);
  EXPECT_EQ(later.disputes()[0].given, kEnd);
  EXPECT_EQ(later.disputes()[0].other, 7);
  EXPECT_FALSE(later.disagrees()) << "one is forgiven";
  Comparison sooner(answer);
  EXPECT_EQ(sooner.take(ended(says({5}), FinishReason::stop)), Then::over);
  ASSERT_EQ(sooner.disputes().size(), 1u);
  EXPECT_EQ(sooner.disputes()[0].given, 6);
  EXPECT_EQ(sooner.disputes()[0].other, kEnd);
}

TEST(Vote, ThreeTimesAsManyDecide) {
  const std::vector<Dispute> disputes(4, {.at = 0, .given = 5, .other = 6});
  const auto result = [&](std::vector<TokenId> said) {
    Vote vote(disputes);
    for (const TokenId token : said) {
      EXPECT_NE(vote.next(), nullptr);
      vote.take(token);
    }
    EXPECT_EQ(vote.next(), nullptr);
    return vote.result();
  };
  EXPECT_EQ(result({6, 6, 6, 6}), Vote::Wrong::given);
  EXPECT_EQ(result({6, 5, 6, 6}), Vote::Wrong::given);
  EXPECT_EQ(result({5, 5, 5, 9}), Vote::Wrong::other);
  EXPECT_EQ(result({5, 5, 6, 6}), Vote::Wrong::undecided);
  EXPECT_EQ(result({7, kEnd, 8, 9}), Vote::Wrong::undecided);
}

}  // namespace
}  // namespace kvasir::audit
