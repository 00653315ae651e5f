#include "router/prefill_choice.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "router/pool.h"

namespace kvasir::router {
namespace {

// Forecasts a queue's time and a millisecond for each token.
class Paced final : public seam::WorkerClient {
 public:
  base::Result<seam::TokenReader> generate(wire::GenerateRequest, boost::asio::any_io_executor) override {
    return base::error(base::ErrorCode::unsupported, "it only forecasts");
  }
  wire::Forecast forecast(const wire::Outline& outline) const override {
    const auto all = static_cast<double>(outline.num_prompt_tokens);
    return {.expected = {.ttft_s = queue_s + (all - outline.num_cached_tokens.value_or(0)) * 1e-3,
                         .tpot_s = 0.01},
            .alone = {.ttft_s = all * 1e-3, .tpot_s = 0.01},
            .slo = {.ttft_s = 1, .tpot_s = 0.1}};
  }
  wire::WorkerReport report() const override { return report_; }

  double queue_s = 0;
  wire::WorkerReport report_{.num_blocks = 1000, .num_free_blocks = 1000};
};

class PrefillChoiceTest : public testing::Test {
 protected:
  PrefillChoiceTest() {
    for (int i = 0; i < 3; ++i) workers.push_back(std::make_shared<Paced>());
  }
  void add(const std::string& id, int worker, std::string role, kv::BlockForm form = {"f16", 1000}) {
    pool->add(id, workers[static_cast<std::size_t>(worker)],
              {std::move(role), id + ":7070", std::move(form)});
  }
  // The route of a prompt of `num_tokens` tokens.
  Route route_of(int num_tokens, int num_sequences = 1) {
    kv::BlockChain chain{kv::CacheScope{}};
    chain.extend(std::vector<TokenId>(static_cast<std::size_t>(num_tokens), 1));
    const wire::Outline outline{
        .prompt_blocks = &chain, .num_prompt_tokens = num_tokens, .num_sequences = num_sequences};
    WorkerLease lease =
        pool->pick(pool->members(), {.prompt = chain, .num_tokens = num_tokens + 100, .outline = &outline},
                   Use(uses))
            .value();
    member = lease.member();
    return lease.route();
  }

  const std::shared_ptr<Use::Count> uses = std::make_shared<Use::Count>("m", std::make_shared<UseListener>());
  std::vector<std::shared_ptr<Paced>> workers;
  std::unique_ptr<Pool> pool = std::make_unique<Pool>("m", PoolOptions{});
  std::string member;
};

TEST_F(PrefillChoiceTest, LongPromptsBesideStreamsGoApart) {
  add("d", 0, wire::kDecodeRole);
  add("p", 1, wire::kPrefillRole);
  workers[0]->report_.num_running = 3;
  const Route route = route_of(2000);
  EXPECT_EQ(member, "d");
  ASSERT_TRUE(route.prefill);
  EXPECT_EQ(route.prefill->address, "p:7070");
  EXPECT_GT(route.prefill->patience_s, 2);
  EXPECT_LT(route.prefill->patience_s, 10);
  EXPECT_NE(short_form(route, member).find("prefill=p"), std::string::npos);
}

TEST_F(PrefillChoiceTest, ShortOnesManyAtOnceAndThoseOfAnIdleWorkerStay) {
  add("d", 0, wire::kDecodeRole);
  add("p", 1, wire::kPrefillRole);
  EXPECT_FALSE(route_of(2000).prefill) << "it disturbs nobody, and the way costs something";
  workers[0]->report_.num_running = 3;
  EXPECT_FALSE(route_of(50).prefill);
  EXPECT_FALSE(route_of(2000, 4).prefill);
  EXPECT_TRUE(route_of(2000).prefill);
}

TEST_F(PrefillChoiceTest, ABusyHelperIsNotWaitedFor) {
  add("d", 0, wire::kDecodeRole);
  add("p", 1, wire::kPrefillRole);
  workers[0]->report_.num_running = 3;
  workers[1]->queue_s = 30;
  EXPECT_FALSE(route_of(2000).prefill);
  // Several prompts at once are spread before any report can show the first ones.
  workers[1]->queue_s = 0;
  int num_apart = 0;
  for (int i = 0; i < 6; ++i) num_apart += route_of(2000).prefill ? 1 : 0;
  EXPECT_GE(num_apart, 1);
  EXPECT_LE(num_apart, 4);
}

// The KV of 2,000 tokens is 125 kB here, which takes seconds over a slow connection.
TEST_F(PrefillChoiceTest, TheWayCostsWhatItWasSeenToCost) {
  add("d", 0, wire::kDecodeRole);
  add("p", 1, wire::kPrefillRole);
  add("q", 2, wire::kPrefillRole);
  workers[0]->report_.num_running = 1;
  workers[2]->queue_s = 0.5;
  const auto tell = [&](double p_bytes_per_s, double q_bytes_per_s) {
    workers[0]->report_.kv_links = std::make_shared<const std::vector<wire::KvLink>>(
        std::vector{wire::KvLink{.address = "q:7070", .bytes_per_s = q_bytes_per_s},
                    wire::KvLink{.address = "p:7070", .bytes_per_s = p_bytes_per_s}});
  };
  tell(1e6, 1e6);
  EXPECT_EQ(route_of(2000).prefill_member, "p") << "0.1 s, while it computes";
  tell(40e3, 1e6);
  EXPECT_EQ(route_of(2000).prefill_member, "q") << "3.1 s, and 1.1 of them after the last token";
  tell(10e3, 10e3);
  EXPECT_FALSE(route_of(2000).prefill) << "12.5 s";
}

TEST_F(PrefillChoiceTest, AHelperWhoseBlocksKeepFailingRests) {
  base::FakeClock clock;
  pool = std::make_unique<Pool>("m", PoolOptions{}, clock);
  add("d", 0, wire::kDecodeRole);
  add("p", 1, wire::kPrefillRole);
  add("q", 2, wire::kPrefillRole);
  workers[0]->report_.num_running = 3;
  workers[2]->queue_s = 0.5;
  const auto tell = [&](std::uint64_t num_good, std::uint64_t num_failed, bool ended_well) {
    workers[0]->report_.kv_links = std::make_shared<const std::vector<wire::KvLink>>(std::vector{wire::KvLink{
        .address = "p:7070", .num_good = num_good, .num_failed = num_failed, .ended_well = ended_well}});
  };
  tell(0, 0, true);
  EXPECT_EQ(route_of(2000).prefill_member, "p");
  tell(0, 3, false);
  EXPECT_EQ(route_of(2000).prefill_member, "q");
  EXPECT_EQ(pool->status()[1].num_prefill_ejections, 1u);
  clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(route_of(2000).prefill_member, "p") << "one that tries it";
  clock.advance(SentPrefills::kRemembered * 2);
  EXPECT_EQ(route_of(2000).prefill_member, "q");
  tell(1, 3, true);
  clock.advance(SentPrefills::kRemembered * 2);
  EXPECT_EQ(route_of(2000).prefill_member, "p");
}

TEST_F(PrefillChoiceTest, AnSloIsNotMissedForTheStreamsSake) {
  add("d", 0, wire::kDecodeRole);
  add("p", 1, wire::kPrefillRole);
  workers[0]->report_.num_running = 3;
  workers[1]->queue_s = 0.9;  // plus half a second for the prompt: more than the SLO of a second
  EXPECT_FALSE(route_of(500).prefill);
  workers[1]->queue_s = 0.4;
  EXPECT_TRUE(route_of(500).prefill);
}

TEST_F(PrefillChoiceTest, TheBestHelperOfTheSameForm) {
  add("d", 0, wire::kDecodeRole);
  add("p", 1, wire::kPrefillRole, {"bf16", 1000});
  add("q", 2, wire::kPrefillRole);
  workers[0]->report_.num_running = 1;
  workers[2]->queue_s = 0.5;
  EXPECT_EQ(route_of(2000).prefill_member, "q");
}

TEST_F(PrefillChoiceTest, AHelperAnswersWhereNobodyElseIs) {
  add("p", 0, wire::kPrefillRole);
  add("q", 1, wire::kPrefillRole);
  workers[0]->report_.num_running = workers[1]->report_.num_running = 1;
  EXPECT_FALSE(route_of(2000).prefill);
  EXPECT_TRUE(member == "p" || member == "q");
  add("d", 2, wire::kAnyRole);
  route_of(10);
  EXPECT_EQ(member, "d");
  workers[2]->report_.progressing = false;
  route_of(10);
  EXPECT_NE(member, "d") << "one that stands still is the last resort";
}

// Two workers, the first of which gets the streams.
TEST_F(PrefillChoiceTest, RolesFollowTheLoad) {
  base::FakeClock clock;
  pool = std::make_unique<Pool>("m", PoolOptions{.roles_window_s = 30}, clock);
  for (const int i : {0, 1}) add(std::string(1, static_cast<char>('a' + i)), i, wire::kAutoRole);
  const auto num_prefill = [&] {
    int number = 0;
    for (const MemberStatus& member : pool->status()) number += member.is_prefill ? 1 : 0;
    return number;
  };
  const auto compute = [&](double share) {
    for (int i = 0; i < 100; ++i) {
      clock.advance(std::chrono::seconds(1));
      for (const int k : {0, 1}) {
        workers[k]->report_.busy_s += 1;
        workers[k]->report_.long_prompts_s += share;
        workers[k]->report_.num_running = 2;
      }
      route_of(10);
    }
  };
  compute(0.1);
  EXPECT_EQ(num_prefill(), 0);
  EXPECT_FALSE(route_of(2000).prefill);
  compute(0.6);
  EXPECT_EQ(num_prefill(), 1);
  const Route route = route_of(2000);
  ASSERT_TRUE(route.prefill);
  EXPECT_NE(route.prefill_member, member);
  compute(0.01);
  EXPECT_EQ(num_prefill(), 0);
  compute(0.6);
  EXPECT_EQ(route_of(2000).prefill_member, route.prefill_member) << "the same one, in every process";
  pool->remove(member);
  EXPECT_FALSE(route_of(2000).prefill) << "it is alone";
}

TEST(SentPrefills, AreForgottenOnceReportsCountThem) {
  SentPrefills sent;
  const base::TimePoint now{std::chrono::seconds(5)};
  sent.add(now, 0.5);
  sent.add(now + std::chrono::milliseconds(100), 0.25);
  EXPECT_DOUBLE_EQ(sent.sum_s(now + std::chrono::milliseconds(100)), 0.75);
  EXPECT_DOUBLE_EQ(sent.sum_s(now + std::chrono::milliseconds(200)), 0.25);
  EXPECT_DOUBLE_EQ(sent.sum_s(now + std::chrono::milliseconds(300)), 0);
}

// The decoder has no streams, and the prefill worker has a queue.
TEST_F(PrefillChoiceTest, ARuleMayTakeThePlaceOfForecasts) {
  workers[1]->queue_s = 100;
  for (const auto& [rule, helper] : {std::pair{PrefillRule::always, "p"}, {PrefillRule::never, ""}}) {
    pool = std::make_unique<Pool>("m", PoolOptions{.prefill = rule});
    add("d", 0, "decode");
    add("p", 1, "prefill");
    EXPECT_EQ(route_of(2000).prefill_member, helper);
    EXPECT_EQ(route_of(30).prefill_member, "") << "too short";
  }
}

}  // namespace
}  // namespace kvasir::router
