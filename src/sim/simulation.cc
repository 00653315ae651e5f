#include "sim/simulation.h"

#include <algorithm>
#include <map>
#include <optional>
#include <queue>
#include <utility>

#include "base/check.h"
#include "sched/caution.h"

namespace kvasir::sim {

namespace {

class Simulation {
 public:
  Simulation(const sched::SchedulerOptions& options, const DeviceCosts& costs, const SimLoad& load,
             std::uint64_t seed)
      : costs_(costs),
        load_(load),
        device_(costs, seed),
        scheduler_(options),
        outlook_(scheduler_.outlook()) {
    for (int i = 0; i < load.concurrency; ++i) arrivals_.push(0);
    for (const double at_s : load.arrivals_s) arrivals_.push(at_s);
  }

  SimRun run() {
    while (true) {
      take_arrivals();
      sched::StepPlan plan = scheduler_.plan();
      if (!plan.empty())
        start(std::move(plan));
      else if (in_flight_)
        collect();
      else if (!arrivals_.empty())
        wait_for_arrival();
      else
        break;
    }
    CHECK(scheduler_.idle(), "the simulation stands still with {} sequences", live_.size());
    run_.end_s = now_s_;
    run_.stats = scheduler_.stats();
    return std::move(run_);
  }

 private:
  bool may_start(double at_s) const {
    if (load_.num_requests > 0 && static_cast<int>(num_started_) >= load_.num_requests) return false;
    return load_.duration_s == 0 || at_s < load_.duration_s;
  }

  void take_arrivals() {
    while (!arrivals_.empty() && arrivals_.top() <= now_s_) {
      const double at_s = arrivals_.top();
      scheduler_.set_now(at_s);
      arrivals_.pop();
      if (!may_start(at_s)) continue;
      SimRequest request = load_.request(num_started_++);
      SimRecord record{.arrived_s = at_s, .prompt_tokens = static_cast<int>(request.prompt.size())};
      wire::GenerateRequest generate;
      generate.prompt = std::move(request.prompt);
      generate.max_tokens = request.output_tokens;
      generate.ignore_eos = true;
      if (load_.forecasts != SimLoad::Forecasts::none) {
        const wire::Forecast forecast = forecast_for(generate, at_s);
        record.predicted_s = forecast.expected.ttft_s;
        if (load_.forecasts == SimLoad::Forecasts::refuse && !forecast.is_within(caution_.factor())) {
          ++run_.num_overload;
          continue;
        }
        arrived_.push_back({.tenant = sched::tenant_hash(generate.origin.tenant),
                            .num_tokens = static_cast<double>(generate.prompt.size()),
                            .num_sequences = 1});
      }
      const base::Result<sched::SequenceId> id = scheduler_.submit(std::move(generate));
      if (!id.ok()) {
        ++run_.num_refused;
        continue;
      }
      live_.emplace(*id, std::move(record));
      run_.peak_in_flight = std::max(run_.peak_in_flight, static_cast<int>(live_.size()));
    }
  }

  void wait_for_arrival() {
    now_s_ = std::max(now_s_, arrivals_.top());
    look_ahead(0);
  }

  // Called when a step begins. Requests that arrive before the next step are forecast from this state.
  void look_ahead(double in_flight_s) {
    if (load_.forecasts == SimLoad::Forecasts::none) return;
    scheduler_.set_now(now_s_);
    outlook_ = scheduler_.outlook();
    outlook_.in_flight_s = in_flight_s;
    outlook_s_ = now_s_;
    arrived_.clear();
  }

  wire::Forecast forecast_for(const wire::GenerateRequest& request, double at_s) const {
    const wire::Outline outline{.tenant = request.origin.tenant,
                                .num_prompt_tokens = static_cast<std::int64_t>(request.prompt.size())};
    return sched::forecast(outlook_, arrived_, outline, 0, std::max(0.0, at_s - outlook_s_));
  }

  // Works like the engine: if steps overlap, the previous step ends after this one has begun.
  void start(sched::StepPlan plan) {
    scheduler_.begin(plan);
    look_ahead(plan.predicted_s + (in_flight_ ? in_flight_->predicted_s : 0));
    if (in_flight_) collect();
    in_flight_ = std::move(plan);
    if (!costs_.overlaps) collect();
  }

  void collect() {
    const sched::StepPlan plan = *std::exchange(in_flight_, {});
    sched::StepResult result;
    result.seconds = device_.run_s(plan.load);
    now_s_ += result.seconds;
    for (const sched::StepPlan::Slice& slice : plan.slices) {
      sched::StepResult::Outcome& outcome = result.outcomes.emplace_back();
      if (slice.wants_token()) outcome.token = wire::Token{.id = kAnswer};
    }
    for (sched::SequenceEvent& event : scheduler_.finish(plan, std::move(result))) deliver(event);
  }

  void deliver(const sched::SequenceEvent& event) {
    const auto found = live_.find(event.sequence);
    CHECK(found != live_.end(), "sequence {} has no client", event.sequence);
    SimRecord& record = found->second;
    if (record.tokens_s.empty() && !event.event.tokens.empty())
      caution_.learn(record.predicted_s, now_s_ - record.arrived_s);
    record.tokens_s.insert(record.tokens_s.end(), event.event.tokens.size(), now_s_);
    if (!event.event.last()) return;
    record.cached_tokens = event.event.usage.cached_tokens;
    run_.records.push_back(std::move(record));
    live_.erase(found);
    if (load_.concurrency > 0) arrivals_.push(now_s_ + load_.client_s);
  }

  static constexpr TokenId kAnswer = 1;

  const DeviceCosts costs_;
  const SimLoad& load_;
  ModelledDevice device_;
  sched::Scheduler scheduler_;
  std::priority_queue<double, std::vector<double>, std::greater<>> arrivals_;
  std::map<sched::SequenceId, SimRecord> live_;
  std::optional<sched::StepPlan> in_flight_;
  sched::Outlook outlook_;
  double outlook_s_ = 0;  // time of outlook_
  sched::Caution caution_;
  std::vector<sched::WaitingLine> arrived_;
  double now_s_ = 0;
  std::uint64_t num_started_ = 0;
  SimRun run_;
};

}  // namespace

SimRun simulate(const sched::SchedulerOptions& options, const DeviceCosts& costs, const SimLoad& load,
                std::uint64_t seed) {
  return Simulation(options, costs, load, seed).run();
}

}  // namespace kvasir::sim
