#include "audit/auditor.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <span>

#include "router/scripted_model.h"
#include "wire/worker_lost.h"

namespace kvasir::audit {
namespace {

using namespace std::chrono_literals;
using router::ScriptedWorker;

constexpr int kNumTokens = 12;

TokenId next_after(const std::vector<TokenId>& known, std::uint32_t weights) {
  std::uint32_t hash = weights;
  for (const TokenId token : known) hash = (hash ^ std::uint32_t(token)) * 16777619u;
  return TokenId(hash % 250);
}

bool becomes_true(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

// Each token of a worker depends on all tokens before it and on the worker's weights. A worker with other
// weights gives other tokens.
class AuditorTest : public testing::Test {
 protected:
  void SetUp() override {
    router_.add("m");
    router::GeneratingModel model = router::scripted_model(nullptr);
    model.worker = nullptr;
    router_.set_ready("m", std::move(model));
  }
  void TearDown() override {
    if (auditor_) auditor_->stop();
  }

  std::shared_ptr<ScriptedWorker> add(const std::string& id, std::uint32_t weights = 1) {
    weights_[id] = weights;
    auto worker = std::make_shared<ScriptedWorker>(
        [weights](const wire::GenerateRequest& request) { return answer(request, weights); });
    router_.add_member("m", id, worker);
    return worker;
  }
  // Needs a worker.
  void begin(Auditor::Options options = {.share = 1}) {
    text_ = router_.chat_text("m").value();
    auditor_ = std::make_shared<Auditor>(options, router_);
  }

  static std::vector<wire::TokenEvent> answer(const wire::GenerateRequest& request, std::uint32_t weights) {
    std::vector<TokenId> known = request.prompt;
    known.insert(known.end(), request.resumed.begin(), request.resumed.end());
    std::vector<wire::TokenEvent> events;
    for (int i = int(request.resumed.size()); i < std::min(kNumTokens, request.max_tokens); ++i) {
      const TokenId id = next_after(known, weights);
      known.push_back(id);
      wire::TokenEvent& event = events.emplace_back();
      event.tokens.push_back({.id = id, .logprob = wire::TokenLogprob{-0.1F, {{id, -0.1F}, {251, -9}}}});
    }
    wire::TokenEvent& last = events.empty() ? events.emplace_back() : events.back();
    last.finish = request.max_tokens > kNumTokens ? wire::FinishReason::stop : wire::FinishReason::length;
    return events;
  }

  // Reports an answer as the member's stream would.
  void give(const std::string& member, TokenId prompt = 7) {
    router::GivenAnswer given{.model = "m", .version = text_->version, .member = member};
    given.request.prompt = {prompt};
    given.request.max_tokens = 100;
    given.request.sampling.temperature = 0;
    given.request.sampling.seed = 1;
    for (const wire::TokenEvent& event : answer(given.request, weights_.at(member)))
      for (const wire::Token& token : event.tokens) given.request.resumed.push_back(token.id);
    given.finish = wire::FinishReason::stop;
    EXPECT_TRUE(auditor_->wants_answer());
    auditor_->on_answer(std::move(given));
  }

  const router::Trust& trust() const { return router_.failures("m")->trust; }
  std::uint64_t num_wrong(const std::string& member) const {
    const auto counts = trust().disagreements();
    const auto found = counts.find(member);
    return found == counts.end() ? 0 : found->second;
  }
  std::set<std::string> members() const {
    std::set<std::string> ids;
    for (const auto& member : router_.members_of("m", text_->version)) ids.insert(member->id);
    return ids;
  }

  router::Router router_;
  router::ChatTextPtr text_;
  std::map<std::string, std::uint32_t> weights_;
  std::shared_ptr<Auditor> auditor_;
};

TEST_F(AuditorTest, HonestWorkersAgree) {
  for (const char* id : {"a", "b", "c"}) add(id);
  begin();
  for (std::uint64_t i = 0; i < 12; ++i) {
    give(i % 2 == 0 ? "a" : "b", TokenId(i));
    ASSERT_TRUE(becomes_true([&] { return trust().num_checks() == i + 1; })) << i;
  }
  EXPECT_TRUE(trust().disagreements().empty());
  EXPECT_EQ(members().size(), 3u);
}

TEST_F(AuditorTest, ALiarIsFoundByItsAnswersAndByItsChecks) {
  for (const char* id : {"a", "b"}) add(id);
  add("liar", 99);
  begin();
  int num_given = 0;
  while (members().contains("liar") && num_given < 100) {
    give(num_given % 2 == 0 ? "liar" : "a", TokenId(num_given));
    ++num_given;
    ASSERT_TRUE(
        becomes_true([&] { return int(trust().num_checks()) >= num_given || !members().contains("liar"); }));
  }
  EXPECT_EQ(members(), (std::set<std::string>{"a", "b"}));
  EXPECT_EQ(num_wrong("liar"), 3u);
  EXPECT_EQ(num_wrong("a") + num_wrong("b") + num_wrong("undecided"), 0u);
  EXPECT_TRUE(router_.is_distrusted("m", "liar"));
  EXPECT_EQ(trust().num_distrusted(), 1u);
  add("liar", 99);
  EXPECT_FALSE(members().contains("liar")) << "it stays out";
  router_.trust_again("liar");
  add("liar", 1);
  EXPECT_TRUE(members().contains("liar"));
}

TEST_F(AuditorTest, OfTwoNobodyCanTellWhoIsWrong) {
  add("a");
  add("liar", 99);
  begin();
  for (std::uint64_t i = 0; i < 5; ++i) {
    give("liar", TokenId(i));
    ASSERT_TRUE(becomes_true([&] { return num_wrong("undecided") == i + 1; }));
  }
  EXPECT_EQ(members().size(), 2u);
  EXPECT_EQ(num_wrong("liar"), 0u);
}

TEST_F(AuditorTest, BusyWorkersAreLeftAlone) {
  add("a");
  const auto b = add("b");
  b->set_report({.num_running = 1});
  begin();
  give("a", 7);
  const auto c = add("c");
  EXPECT_EQ(c->wait_for(0).request.prompt, std::vector<TokenId>{7});
  ASSERT_TRUE(becomes_true([&] { return trust().num_checks() == 1; }));
  c->set_report({.num_waiting = 1});
  give("a", 8);
  b->set_report({});
  EXPECT_EQ(b->wait_for(0).request.prompt, std::vector<TokenId>{8}) << "it was not asked before";
}

// The worker's stream never gets an event, so the check would never end by itself.
TEST_F(AuditorTest, ACheckGivesWayToOthers) {
  add("a");
  const auto slow = std::make_shared<ScriptedWorker>();
  router_.add_member("m", "slow", slow);
  begin();
  give("a");
  const auto asked = slow->wait_for(0);
  slow->set_report({.num_running = 2});
  ASSERT_TRUE(becomes_true([&] { return asked.stream->cancelled(); }));
  EXPECT_EQ(trust().num_checks(), 0u);
  slow->set_report({});
  EXPECT_EQ(slow->wait_for(1).request.prompt, asked.request.prompt) << "it is tried again";
}

TEST_F(AuditorTest, AnErrorSaysNothingOfAnybody) {
  add("a");
  const auto failing = std::make_shared<ScriptedWorker>([](const wire::GenerateRequest&) {
    return std::vector<wire::TokenEvent>{
        {.error = base::Error{base::ErrorCode::unavailable, "gone", {}, std::string(wire::kWorkerLost)}}};
  });
  router_.add_member("m", "failing", failing);
  begin();
  give("a");
  failing->wait_for(1);
  EXPECT_EQ(trust().num_checks(), 0u);
  EXPECT_TRUE(trust().disagreements().empty());
}

TEST_F(AuditorTest, WhatWaitsIsBounded) {
  add("a");
  const auto b = add("b");
  b->set_report({.num_running = 1});
  begin();
  for (int i = 0; i < 100; ++i) give("a", TokenId(i));
  b->set_report({});
  std::vector<TokenId> asked;
  while (asked.empty() || asked.back() != 99)
    asked.push_back(b->wait_for(asked.size()).request.prompt.front());
  // The auditor may have held one more answer while the others came.
  ASSERT_GE(asked.size(), Auditor::kMostWaiting);
  EXPECT_LE(asked.size(), Auditor::kMostWaiting + 1);
  const auto newest = std::span(asked).last(Auditor::kMostWaiting);
  for (std::size_t i = 0; i < newest.size(); ++i)
    EXPECT_EQ(newest[i], TokenId(100 - Auditor::kMostWaiting + i));
}

TEST_F(AuditorTest, AnswersOfAModelThatWasReplacedAreForgotten) {
  add("a");
  const auto b = add("b");
  b->set_report({.num_running = 1});
  begin();
  give("a");
  router::GeneratingModel model = router::scripted_model(nullptr);
  model.worker = nullptr;
  router_.set_ready("m", std::move(model));
  text_ = router_.chat_text("m").value();
  b->set_report({});
  give("a", 9);
  EXPECT_EQ(b->wait_for(0).request.prompt, std::vector<TokenId>{9});
}

TEST(AuditorShare, IsOfAllAnswers) {
  router::Router router;
  Auditor tenth({.share = 0.1}, router);
  Auditor none({.share = 0}, router);
  int num_wanted = 0;
  for (int i = 0; i < 10'000; ++i) {
    num_wanted += tenth.wants_answer() ? 1 : 0;
    EXPECT_FALSE(none.wants_answer());
  }
  EXPECT_GT(num_wanted, 800);
  EXPECT_LT(num_wanted, 1200);
}

}  // namespace
}  // namespace kvasir::audit
