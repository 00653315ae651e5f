#include "bench/load_session.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

#include "bench/probe.h"

namespace kvasir::bench {

namespace {

constexpr int kMostWarmups = 4;
constexpr int kLeastRequests = 16;
constexpr int kRequestsPerClient = 4;
constexpr double kSecondsPerRate = 30;
constexpr int kWarmPhases = 1000;  // the numbers of warm-up phases begin here, so their prompts are different

std::string now_text() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(now));
}

LoadPhase blank_phase(const SessionOptions& options, int number) {
  LoadPhase phase;
  phase.number = number;
  phase.num_requests = options.num_requests;
  phase.duration_s = options.duration_s;
  phase.timeout_s = options.target.timeout_s;
  phase.seed = options.shape.seed;
  const int num_entries = static_cast<int>(options.trace.size());
  const bool unlimited = phase.num_requests == 0 && phase.duration_s == 0;
  if (num_entries > 0 && (unlimited || phase.num_requests > num_entries)) phase.num_requests = num_entries;
  return phase;
}

class Session {
 public:
  Session(const SessionOptions& options, const std::function<void(std::string_view)>& on_progress,
          std::stop_token stop)
      : options_(options), on_progress_(on_progress), stop_(std::move(stop)) {}

  base::Result<LoadReport> run() {
    on_progress_("probing the server");
    TRY(target_, open_target(options_.target));
    TRY(probe_, probe(target_, stop_));
    describe();
    const std::vector<LoadPhase> phases = plan_phases(options_);
    for (const LoadPhase& phase : phases) {
      if (stop_.stop_requested()) break;
      warm_up(phase);
      measure(phase, phases.size());
    }
    return std::move(report_);
  }

 private:
  void describe() {
    report_.url = target_.base_url();
    report_.endpoint = target_.endpoint == Endpoint::chat ? "/v1/chat/completions" : "/v1/completions";
    report_.model = target_.model;
    report_.workload = options_.workload;
    report_.input_tokens = options_.shape.input_tokens;
    report_.output_tokens = options_.shape.output_tokens;
    report_.seed = options_.shape.seed;
    report_.slo = options_.slo;
    report_.notes = probe_.notes;
    report_.started = now_text();
  }

  ConversationSource source(int phase_number) const {
    return [this, phase_number](std::uint64_t index) {
      const std::vector<TraceEntry>& trace = options_.trace;
      if (trace.empty()) return make_conversation(options_.shape, probe_.scale, phase_number, index);
      return conversation_of(trace[index % trace.size()], probe_.scale,
                             options_.shape.seed + static_cast<std::uint64_t>(phase_number), index);
    };
  }

  void warm_up(const LoadPhase& phase) {
    const int num_clients = std::max(1, phase.concurrency);
    LoadPhase warm = blank_phase(options_, kWarmPhases + phase.number);
    warm.num_requests =
        options_.num_warmups >= 0 ? options_.num_warmups : std::min(num_clients, kMostWarmups);
    if (warm.num_requests == 0) return;
    warm.concurrency = std::min(num_clients, warm.num_requests);
    warm.duration_s = 0;
    WorkloadOptions shape = options_.shape;
    shape.kind = WorkloadKind::chat;
    on_progress_("warming up");
    LoadWatch watch;
    watch.stop = stop_;
    run_load(
        target_, warm,
        [&](std::uint64_t index) { return make_conversation(shape, probe_.scale, warm.number, index); },
        watch);
  }

  void measure(const LoadPhase& phase, std::size_t num_phases) {
    const std::string label = PhaseSummary{.concurrency = phase.concurrency, .rate = phase.rate}.label();
    LoadWatch watch;
    watch.stop = stop_;
    watch.on_progress = [&](const LoadProgress& p) {
      const std::string total = phase.num_requests > 0 ? fmt::format(" of {}", phase.num_requests) : "";
      const std::string failed = p.num_failed > 0 ? fmt::format(", {} failed", p.num_failed) : "";
      on_progress_(fmt::format("[{}/{}] {}: {}{} requests, {} in flight{}, {:.0f} chunks/s, {:.0f} s",
                               phase.number, num_phases, label, p.num_done, total, p.in_flight, failed,
                               static_cast<double>(p.num_chunks) / std::max(p.elapsed_s, 1e-3), p.elapsed_s));
    };
    report_.runs.push_back(run_load(target_, phase, source(phase.number), watch));
    report_.phases.push_back(summarize(phase, report_.runs.back(), report_.slo));
  }

  const SessionOptions& options_;
  const std::function<void(std::string_view)>& on_progress_;
  const std::stop_token stop_;
  Target target_;
  Probe probe_;
  LoadReport report_;
};

}  // namespace

std::vector<LoadPhase> plan_phases(const SessionOptions& options) {
  std::vector<LoadPhase> phases;
  const auto add = [&](int concurrency, double rate) {
    LoadPhase phase = blank_phase(options, static_cast<int>(phases.size()) + 1);
    phase.concurrency = concurrency;
    phase.rate = rate;
    if (options.shape.kind == WorkloadKind::burst) phase.burst = options.shape.burst;
    if (phase.num_requests == 0 && phase.duration_s == 0) {
      const int by_load =
          concurrency > 0 ? kRequestsPerClient * concurrency : static_cast<int>(kSecondsPerRate * rate);
      phase.num_requests = std::max(kLeastRequests, by_load);
    }
    phases.push_back(std::move(phase));
  };
  for (const double rate : options.rates) add(0, rate);
  for (const int concurrency : options.concurrency) add(concurrency, 0);
  if (!phases.empty()) return phases;
  if (options.trace.empty() || !options.trace.front().arrival_s) {
    add(1, 0);
    add(8, 0);
    return phases;
  }
  phases.push_back(blank_phase(options, 1));
  for (const TraceEntry& entry : options.trace)
    phases.back().arrivals_s.push_back(*entry.arrival_s / options.speed);
  return phases;
}

base::Result<LoadReport> run_session(const SessionOptions& options,
                                     const std::function<void(std::string_view)>& on_progress,
                                     std::stop_token stop) {
  return Session(options, on_progress, std::move(stop)).run();
}

}  // namespace kvasir::bench
