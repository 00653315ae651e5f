// Tenants that share one scheduler on a device with simple costs: who gets how much, and who waits how long.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "sched/scheduler.h"

namespace kvasir::sched {
namespace {

struct Client {
  std::string tenant;
  int weight = 1;
  int priority = 0;
  int num_prompt = 64;
  int num_output = 32;
};

struct Served {
  std::int64_t tokens = 0;
  std::vector<double> ttft_s;
  std::vector<double> tpot_s;
};

double p95(std::vector<double> values) {
  EXPECT_FALSE(values.empty());
  std::ranges::sort(values);
  return values[values.size() * 95 / 100];
}

// Steps take 20 ms, and 1 ms for each row. Prompts never repeat.
class Device {
 public:
  explicit Device(SchedulerOptions options) : scheduler_(options) {}

  SequenceId submit(const Client& client, const std::string& request_id = "") {
    wire::GenerateRequest request;
    for (int i = 0; i < client.num_prompt; ++i) request.prompt.push_back(next_token_++);
    request.max_tokens = client.num_output;
    request.priority = client.priority;
    request.origin = {.request_id = request_id,
                      .tenant = client.tenant,
                      .weight = client.weight,
                      .cache_namespace = client.tenant};
    const SequenceId id = scheduler_.submit(std::move(request)).value();
    live_[id] = {client, now_s_};
    return id;
  }

  // Clients that send their next request when the last one is answered.
  void keep(const Client& client, int num_clients) {
    for (int i = 0; i < num_clients; ++i) kept_.insert(submit(client));
  }

  void step() {
    const StepPlan plan = scheduler_.plan();
    ASSERT_FALSE(plan.empty());
    StepResult result;
    for (const StepPlan::Slice& slice : plan.slices) {
      StepResult::Outcome& outcome = result.outcomes.emplace_back();
      if (slice.wants_token()) outcome.token = wire::Token{.id = 5};
      Live& live = live_.at(slice.sequence);
      const int num_done = slice.num_computed + slice.num_rows;
      if (num_done > live.num_done) served[live.client.tenant].tokens += num_done - live.num_done;
      live.num_done = std::max(live.num_done, num_done);
    }
    result.seconds = 0.020 + 0.001 * plan.load.num_rows();
    now_s_ += result.seconds;
    for (const SequenceEvent& event : scheduler_.commit(plan, std::move(result))) take(event);
  }

  void run_for(double seconds) {
    for (const double end_s = now_s_ + seconds; now_s_ < end_s;) step();
  }

  bool is_alive(SequenceId id) const { return live_.contains(id); }
  double first_token_s(SequenceId id) const {
    return first_tokens_s_.contains(id) ? first_tokens_s_.at(id) : -1;
  }
  double now_s() const { return now_s_; }
  Scheduler& scheduler() { return scheduler_; }

  std::map<std::string, Served> served;

 private:
  struct Live {
    Client client;
    double arrived_s = 0;
    double first_s = -1;
    int num_done = 0;
  };

  void take(const SequenceEvent& event) {
    Live& live = live_.at(event.sequence);
    if (live.first_s < 0 && !event.event.tokens.empty()) {
      live.first_s = now_s_;
      first_tokens_s_[event.sequence] = now_s_;
      served[live.client.tenant].ttft_s.push_back(now_s_ - live.arrived_s);
    }
    if (!event.event.last()) return;
    EXPECT_FALSE(event.event.error);
    EXPECT_EQ(event.event.usage.output_tokens, live.client.num_output);
    served[live.client.tenant].tpot_s.push_back((now_s_ - live.first_s) / (live.client.num_output - 1));
    const Client client = live.client;
    live_.erase(event.sequence);
    if (kept_.erase(event.sequence) > 0) kept_.insert(submit(client));
  }

  Scheduler scheduler_;
  TokenId next_token_ = 100;
  double now_s_ = 0;
  std::map<SequenceId, Live> live_;
  std::set<SequenceId> kept_;
  std::map<SequenceId, double> first_tokens_s_;
};

SchedulerOptions ample() {
  return {.num_blocks = 4096,
          .max_batch_sequences = 16,
          .target_step_s = 0,
          .slo = {.ttft_s = 0.5, .tpot_s = 0.1},
          .short_step_s = 0.05};
}

double ratio(Device& device, const std::string& a, const std::string& b) {
  return static_cast<double>(device.served[a].tokens) / static_cast<double>(device.served[b].tokens);
}

TEST(Shares, TenantsWithWorkGetEqualTokensWhateverTheyAskFor) {
  Device device(ample());
  device.keep({.tenant = "modest"}, 20);
  device.keep({.tenant = "greedy"}, 200);
  device.run_for(20);
  device.served.clear();
  device.run_for(200);
  EXPECT_NEAR(ratio(device, "greedy", "modest"), 1, 0.05);
}

TEST(Shares, TokensFollowTheWeights) {
  Device device(ample());
  device.keep({.tenant = "light", .weight = 1}, 40);
  device.keep({.tenant = "heavy", .weight = 3}, 40);
  device.run_for(20);
  device.served.clear();
  device.run_for(200);
  EXPECT_NEAR(ratio(device, "heavy", "light"), 3, 0.15);
}

// Long prompts against long answers: what counts is tokens, not requests.
TEST(Shares, TokensCountNotRequests) {
  Device device(ample());
  device.keep({.tenant = "reads", .num_prompt = 400, .num_output = 4}, 40);
  device.keep({.tenant = "writes", .num_prompt = 16, .num_output = 200}, 40);
  device.run_for(40);
  device.served.clear();
  device.run_for(400);
  EXPECT_NEAR(ratio(device, "reads", "writes"), 1, 0.1);
}

TEST(Shares, IdlenessSavesNothingUp) {
  Device device(ample());
  device.keep({.tenant = "early"}, 40);
  device.run_for(100);
  device.keep({.tenant = "late"}, 40);
  device.run_for(10);
  device.served.clear();
  device.run_for(100);
  EXPECT_NEAR(ratio(device, "late", "early"), 1, 0.05);
}

// Streams that are far from their end leave no place for others, unless they have to give way.
TEST(Shares, ANewTenantDoesNotWaitForTheStreamsOfAnother) {
  Device device(ample());
  for (int i = 0; i < 500; ++i) device.submit({.tenant = "flood", .num_output = 2000});
  device.run_for(5);
  const double asked_s = device.now_s();
  const SequenceId id = device.submit({.tenant = "guest"});
  device.run_for(1);
  ASSERT_GT(device.first_token_s(id), 0);
  EXPECT_LT(device.first_token_s(id) - asked_s, 0.5);
  EXPECT_GT(device.scheduler().stats().num_preemptions, 0);
}

TEST(Shares, ChoicesOfOneRequestTakeTurnsWithTheTenantsNextRequest) {
  Device device(ample());
  for (int i = 0; i < 6; ++i)
    for (int choice = 0; choice < 128; ++choice)
      device.submit({.tenant = "one address", .num_output = 1000}, "request " + std::to_string(i));
  device.run_for(5);
  const double asked_s = device.now_s();
  const SequenceId id = device.submit({.tenant = "one address"}, "another");
  device.run_for(1);
  ASSERT_GT(device.first_token_s(id), 0);
  EXPECT_LT(device.first_token_s(id) - asked_s, 0.5);
}

TEST(Shares, AFloodOfALowerClassIsHardlySeenByAHigherOne) {
  const Client paying{.tenant = "paying", .priority = 2};
  Device quiet(ample());
  quiet.keep(paying, 4);
  quiet.run_for(60);
  Device flooded(ample());
  flooded.keep(paying, 4);
  flooded.keep({.tenant = "free", .priority = 0}, 400);
  flooded.run_for(60);
  EXPECT_LT(p95(flooded.served["paying"].ttft_s), 1.2 * p95(quiet.served["paying"].ttft_s));
  EXPECT_LT(p95(flooded.served["paying"].tpot_s), 1.2 * p95(quiet.served["paying"].tpot_s));
  // The lower class has what is set apart for it.
  EXPECT_GT(flooded.served["free"].tokens, flooded.served["paying"].tokens / 40);
}

TEST(Shares, MemoryGoesToTheHigherClass) {
  SchedulerOptions options = ample();
  options.num_blocks = 40;
  Device device(options);
  for (int i = 0; i < 8; ++i) device.submit({.tenant = "free", .num_output = 300});
  device.run_for(2);
  const SequenceId id =
      device.submit({.tenant = "paying", .priority = 2, .num_prompt = 300, .num_output = 8});
  const double asked_s = device.now_s();
  while (device.is_alive(id)) device.step();
  EXPECT_LT(device.now_s() - asked_s, 2);
  while (!device.scheduler().idle()) device.step();
}

TEST(Shares, EverybodyEndsWhateverTheMixture) {
  for (int seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto draw = [&random](int least, int most) {
      return std::uniform_int_distribution(least, most)(random);
    };
    SchedulerOptions options = ample();
    options.num_blocks = draw(24, 200);
    options.max_batch_sequences = draw(1, 8);
    options.prefix_cache = draw(0, 3) > 0;
    Device device(options);
    std::vector<SequenceId> ids;
    for (int i = 0; i < 60; ++i) {
      const std::string tenant = std::to_string(draw(0, 5));
      ids.push_back(device.submit({.tenant = tenant,
                                   .weight = draw(1, 4),
                                   .priority = draw(0, 2),
                                   .num_prompt = draw(1, 200),
                                   .num_output = draw(2, 100)},
                                  std::to_string(draw(0, 20))));
      for (int steps = draw(0, 3); steps > 0 && !device.scheduler().idle(); --steps) device.step();
    }
    for (int i = 0; i < 20'000 && !device.scheduler().idle() && !HasFatalFailure(); ++i) device.step();
    EXPECT_TRUE(device.scheduler().idle());
  }
}

}  // namespace
}  // namespace kvasir::sched
