#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sched/scheduler.h"

namespace kvasir::sched {

struct Client {
  std::string tenant;
  int weight = 1;
  int priority = 0;
  int num_prompt = 64;
  int num_output = 32;
  double slo_ttft_s = 0;
  double slo_tpot_s = 0;
};

struct Served {
  std::int64_t tokens = 0;
  std::vector<double> ttft_s;
  std::vector<double> tpot_s;
};

inline double p95(std::vector<double> values) {
  EXPECT_FALSE(values.empty());
  std::ranges::sort(values);
  return values[values.size() * 95 / 100];
}

// Simulates tenants' clients, one scheduler and its device. A step takes `step_s`, and `row_s` more for each
// row. No prompt repeats an earlier one.
class Device {
 public:
  explicit Device(SchedulerOptions options, double step_s = 0.020, double row_s = 0.001)
      : scheduler_(options), step_s_(step_s), row_s_(row_s) {}

  SequenceId submit(const Client& client, const std::string& request_id = "") {
    wire::GenerateRequest request;
    for (int i = 0; i < client.num_prompt; ++i) request.prompt.push_back(next_token_++);
    request.max_tokens = client.num_output;
    request.priority = client.priority;
    request.slo_ttft_s = client.slo_ttft_s;
    request.slo_tpot_s = client.slo_tpot_s;
    request.origin = {.request_id = request_id,
                      .tenant = client.tenant,
                      .weight = client.weight,
                      .cache_namespace = client.tenant};
    const SequenceId id = scheduler_.submit(std::move(request)).value();
    live_[id] = {client, now_s_};
    return id;
  }

  // Adds clients that send their next request when the last one is answered.
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
    result.seconds = step_s_ + row_s_ * plan.load.num_rows();
    now_s_ += result.seconds;
    last_step_s = result.seconds;
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
  double last_step_s = 0;

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
  double step_s_;
  double row_s_;
  TokenId next_token_ = 100;
  double now_s_ = 0;
  std::map<SequenceId, Live> live_;
  std::set<SequenceId> kept_;
  std::map<SequenceId, double> first_tokens_s_;
};

}  // namespace kvasir::sched
