#include "router/policy.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "router/pool.h"
#include "router/scripted_model.h"

namespace kvasir::router {
namespace {

// Forecasts the time of a queue and of each token that it does not hold. Reports its blocks when the test
// says so.
class ForecastingWorker final : public seam::WorkerClient {
 public:
  base::Result<seam::TokenReader> generate(wire::GenerateRequest, boost::asio::any_io_executor) override {
    return base::error(base::ErrorCode::unsupported, "it only forecasts");
  }
  wire::Forecast forecast(const wire::Outline& outline) const override {
    const double left =
        static_cast<double>(outline.num_prompt_tokens - outline.num_cached_tokens.value_or(0));
    return {.expected = {.ttft_s = queue_s + left * 1e-3, .tpot_s = 0.01},
            .alone = {.ttft_s = static_cast<double>(outline.num_prompt_tokens) * 1e-3, .tpot_s = 0.01},
            .slo = {.ttft_s = 1, .tpot_s = 0.1}};
  }
  wire::WorkerReport report() const override { return report_; }
  void watch_blocks(std::shared_ptr<seam::BlockSink> sink) override {
    ++num_watches;
    sink_ = std::move(sink);
  }
  void tell(wire::BlockChanges changes) { sink_->on_blocks(std::move(changes)); }
  void tell_first(const kv::BlockChain& chain, std::size_t num) {
    const auto hashes = chain.hashes().first(num);
    tell({.number = 1, .anew = true, .added = {hashes.begin(), hashes.end()}});
  }
  bool is_watched() const { return sink_ != nullptr; }

  double queue_s = 0;
  int num_watches = 0;
  wire::WorkerReport report_{.num_blocks = 1000, .num_free_blocks = 1000};

 private:
  std::shared_ptr<seam::BlockSink> sink_;
};

class PoolTest : public ::testing::Test {
 protected:
  void make(std::string policy, int num_workers, std::uint64_t seed = 1) {
    pool_ = std::make_unique<Pool>("m", PoolOptions{.policy = std::move(policy), .seed = seed});
    for (int i = 0; i < num_workers; ++i) {
      workers_.push_back(std::make_shared<ForecastingWorker>());
      pool_->add("w" + std::to_string(i), workers_.back());
    }
  }
  static kv::BlockChain chain_of(TokenId first, int num_blocks) {
    kv::BlockChain chain{kv::CacheScope{}};
    chain.extend(std::vector<TokenId>(static_cast<std::size_t>(num_blocks) * kv::kBlockTokens, first));
    return chain;
  }
  WorkerLease pick(Demand demand) {
    demand.explains = true;
    return pool_->pick(pool_->members(), demand, Use(uses_)).value();
  }
  std::map<std::string, int> pick_often(const Demand& demand, int times) {
    std::map<std::string, int> counts;
    for (int i = 0; i < times; ++i) ++counts[pick(demand).member()];
    return counts;
  }

  const std::shared_ptr<Use::Count> uses_ =
      std::make_shared<Use::Count>("m", std::make_shared<UseListener>());
  std::vector<std::shared_ptr<ForecastingWorker>> workers_;
  std::unique_ptr<Pool> pool_;
};

TEST_F(PoolTest, RoundRobinAndRandomUseEverybody) {
  const kv::BlockChain none{kv::CacheScope{}};
  for (const char* policy : {"round_robin", "random", "least_loaded"}) {
    workers_.clear();
    make(policy, 4);
    const auto counts = pick_often({.prompt = none}, 400);
    ASSERT_EQ(counts.size(), 4u) << policy;
    for (const auto& [member, count] : counts) EXPECT_GT(count, 60) << policy << " " << member;
    for (const auto& worker : workers_) EXPECT_FALSE(worker->is_watched()) << "nobody asks for blocks";
  }
}

TEST_F(PoolTest, LeastLoadedCountsReportsAndWhatWasSentSince) {
  make("least_loaded", 3);
  const kv::BlockChain none{kv::CacheScope{}};
  workers_[0]->report_.num_running = 3;
  workers_[1]->report_.num_waiting = 1;
  std::vector<WorkerLease> leases;
  std::map<std::string, int> counts;
  for (int i = 0; i < 5; ++i) ++counts[leases.emplace_back(pick({.prompt = none})).member()];
  EXPECT_EQ(counts["w2"], 3);
  EXPECT_EQ(counts["w1"], 2);
}

// Two gateways send requests by reports that do not yet show each other's requests.
TEST_F(PoolTest, GatewaysThatCannotSeeEachOtherFormNoHerd) {
  for (const char* policy : {"cache", "least_loaded"}) {
    workers_.clear();
    make(policy, 6, 1);
    Pool other("m", PoolOptions{.policy = policy, .seed = 2});
    for (std::size_t i = 0; i < 6; ++i) other.add("w" + std::to_string(i), workers_[i]);
    workers_[3]->report_.num_running = 5;  // the others look better, and all equally good
    std::vector<WorkerLease> leases;
    std::map<std::string, int> counts;
    for (TokenId i = 0; i < 60; ++i) {
      const kv::BlockChain chain = chain_of(i + 1, 4);
      Pool& pool = i % 2 == 0 ? *pool_ : other;
      leases.push_back(pool.pick(pool.members(), {.prompt = chain}, Use(uses_)).value());
      ++counts[leases.back().member()];
    }
    for (const char* member : {"w0", "w1", "w2", "w4", "w5"}) {
      EXPECT_GE(counts[member], 7) << policy << " " << member;
      EXPECT_LE(counts[member], 17) << policy << " " << member;
    }
  }
}

TEST_F(PoolTest, ThePrefixDecidesUntilItsQueueIsLonger) {
  make("cache", 4);
  const kv::BlockChain chain = chain_of(1, 100);
  for (std::size_t i = 0; i < 4; ++i) workers_[i]->tell_first(chain, i == 2 ? 90 : i == 1 ? 40 : 0);
  const auto demand = [&] { return Demand{.prompt = chain, .num_tokens = 1700}; };
  const WorkerLease lease = pick(demand());
  EXPECT_EQ(lease.member(), "w2");
  EXPECT_EQ(lease.route().num_cached, 1440);
  EXPECT_NEAR(lease.route().expected_ttft_s, 0.16, 1e-9);
  EXPECT_EQ(lease.route().num_members, 4);
  EXPECT_NE(lease.route().scores.find("w1:1920ms/cached=640/load=0"), std::string::npos)
      << lease.route().scores;
  EXPECT_TRUE(
      short_form(lease.route(), lease.member())
          .starts_with("member=w2; policy=cache; cached=1440; load=0; near=1/4; ttft_ms=160; scores="));
  workers_[2]->queue_s = 1;
  EXPECT_EQ(pick(demand()).member(), "w2") << "others would have to compute more";
  workers_[2]->queue_s = 2;
  EXPECT_EQ(pick(demand()).member(), "w1");
  workers_[1]->report_.num_free_blocks = 10;
  EXPECT_NE(pick(demand()).member(), "w1") << "it has no memory for it";
}

TEST_F(PoolTest, AMemberThatLeavesOrIsReplacedHoldsNothing) {
  make("cache", 3);
  const kv::BlockChain chain = chain_of(1, 10);
  for (const auto& worker : workers_) worker->tell_first(chain, 10);
  pool_->remove("w0");
  EXPECT_FALSE(workers_[0]->is_watched());
  pool_->add("w1", std::make_shared<ForecastingWorker>());
  EXPECT_EQ(pick({.prompt = chain, .num_tokens = 160}).member(), "w2");
  pool_->remove("w1");
  EXPECT_FALSE(workers_[2]->is_watched()) << "one member needs no index";
  EXPECT_EQ(pool_->index().num_blocks(), 0u);
  const WorkerLease lease = pick({.prompt = chain});
  EXPECT_EQ(short_form(lease.route(), lease.member()), "member=w2; policy=only");
}

TEST_F(PoolTest, AfterAGapItWatchesAnewAndKeepsWhatItKnew) {
  make("cache", 2);
  const kv::BlockChain chain = chain_of(1, 10);
  const auto hashes = chain.hashes();
  workers_[0]->tell_first(chain, 4);
  workers_[0]->tell({.number = 2, .added = {hashes[4]}});
  EXPECT_EQ(pool_->index().find(chain)[0], 5);
  workers_[0]->tell({.number = 4, .removed = {hashes[0]}});
  EXPECT_EQ(workers_[0]->num_watches, 2);
  workers_[0]->tell({.number = 5, .removed = {hashes[1]}});
  EXPECT_EQ(workers_[0]->num_watches, 2) << "once is enough";
  EXPECT_EQ(pool_->index().find(chain)[0], 5);
  workers_[0]->tell({.number = 6, .anew = true, .added = {hashes[0], hashes[1]}});
  EXPECT_EQ(pool_->index().find(chain)[0], 2);
  workers_[0]->tell({.number = 7, .added = {hashes[2]}});
  EXPECT_EQ(pool_->index().find(chain)[0], 3);
}

TEST_F(PoolTest, OfIdleEqualsThoseWhoseRequestsBeginAlikeMeet) {
  make("cache", 8);
  for (const auto& worker : workers_) worker->tell({.number = 1, .anew = true});
  std::set<std::string> used;
  for (TokenId talk = 1; talk <= 40; ++talk) {
    const kv::BlockChain chain = chain_of(talk, 20);
    const auto counts = pick_often({.prompt = chain, .num_tokens = 320}, 5);
    EXPECT_EQ(counts.size(), 1u) << "gateways agree without a word";
    used.insert(counts.begin()->first);
  }
  EXPECT_GE(used.size(), 6u);
}

// A burst of requests of one kind does not go to one worker only.
TEST_F(PoolTest, OfEqualsABurstIsSpread) {
  make("cache", 4);
  const kv::BlockChain chain = chain_of(1, 20);
  for (const auto& worker : workers_) worker->tell_first(chain, 20);
  std::vector<WorkerLease> leases;
  std::map<std::string, int> counts;
  for (int i = 0; i < 40; ++i)
    ++counts[leases.emplace_back(pick({.prompt = chain, .num_tokens = 320})).member()];
  ASSERT_EQ(counts.size(), 4u);
  for (const auto& [member, count] : counts) EXPECT_NEAR(count, 10, 3) << member;
}

TEST_F(PoolTest, OneThatFailedOrStandsStillIsTheLastResort) {
  make("cache", 2);
  const kv::BlockChain chain = chain_of(1, 20);
  workers_[0]->tell_first(chain, 20);
  workers_[0]->report_.progressing = false;
  EXPECT_EQ(pick({.prompt = chain}).member(), "w1");
  workers_[1]->report_.failed = true;
  EXPECT_EQ(pick({.prompt = chain}).member(), "w0");
}

// Workers without forecasts are weighed by tokens.
TEST_F(PoolTest, WithoutForecastsTokensDecide) {
  Pool pool("m", {});
  auto a = std::make_shared<ScriptedWorker>(), b = std::make_shared<ScriptedWorker>();
  a->set_report({.num_running = 5, .num_waiting = 3});
  pool.add("a", a);
  pool.add("b", b);
  const kv::BlockChain chain = chain_of(1, 20);
  EXPECT_EQ(pool.pick(pool.members(), {.prompt = chain}, Use(uses_)).value().member(), "b");
}

}  // namespace
}  // namespace kvasir::router
