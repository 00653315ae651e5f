#include "bench/sim_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "bench/arrivals.h"
#include "bench/random.h"
#include "sched/reachable_slo.h"
#include "sim/fleet.h"
#include "sim/simulation.h"

namespace kvasir::bench {

namespace {

// The first token ids of separate ranges, so that parts of prompts are equal only if they should be.
constexpr TokenId kTemplateTokens = 1000;
constexpr TokenId kPrefixTokens = 1 << 20;
constexpr TokenId kOwnTokens = 1 << 26;

sim::SimRequest request_of(const SimOptions& options, int phase, std::uint64_t index) {
  const WorkloadOptions& shape = options.session.shape;
  const QuestionShape question = question_shape(shape, phase, index);
  sim::SimRequest request{.output_tokens = question.output_tokens};
  for (int i = 0; i < options.template_tokens; ++i) request.prompt.push_back(kTemplateTokens + i);
  if (question.prefix_group)
    for (int i = 0; i < shape.prefix_tokens; ++i)
      request.prompt.push_back(kPrefixTokens + static_cast<TokenId>(*question.prefix_group) * 8192 +
                               i % 8192);
  // The template's tokens count as part of the user's message, as in a real run.
  const int num_own = std::max(1, question.input_tokens - options.template_tokens);
  for (int i = 0; i < num_own; ++i)
    request.prompt.push_back(kOwnTokens + static_cast<TokenId>((index * 7919 + i) % (1u << 30)));
  return request;
}

sim::SimLoad load_of(const SimOptions& options, const LoadPhase& phase) {
  sim::SimLoad load{.concurrency = phase.concurrency,
                    .arrivals_s = phase.arrivals_s,
                    .num_requests = phase.num_requests,
                    .duration_s = phase.duration_s,
                    .forecasts = options.admits_by_goodput ? sim::SimLoad::Forecasts::refuse
                                                           : sim::SimLoad::Forecasts::none,
                    .client_s = options.client_s,
                    .request = [&options, number = phase.number](std::uint64_t index) {
                      return request_of(options, number, index);
                    }};
  if (phase.rate <= 0) return load;
  Arrivals arrivals = Arrivals::poisson(phase.rate, phase.seed, phase.burst);
  while (true) {
    const double at_s = *arrivals.next();
    if (phase.duration_s > 0 && at_s >= phase.duration_s) break;
    if (phase.num_requests > 0 && std::ssize(load.arrivals_s) == phase.num_requests) break;
    load.arrivals_s.push_back(at_s);
  }
  return load;
}

void add_tokens(TokenId first, int num, std::vector<TokenId>& tokens) {
  for (int i = 0; i < num; ++i) tokens.push_back(first + i);
}

// Makes the talk of one user: a system prompt that the user's group shares, then the user's own turns.
sim::FleetTalk talk_of(const SimOptions& options, int phase, std::uint64_t index) {
  const WorkloadOptions& shape = options.session.shape;
  Random random(shape.seed, 0x666c65657400 + (static_cast<std::uint64_t>(phase) << 48) + index);
  const auto varied = [&](int tokens) {
    return std::max(1, static_cast<int>(std::lround(tokens * (1 + shape.vary * (2 * random.uniform() - 1)))));
  };
  sim::FleetTalk talk;
  const auto group = random.below(static_cast<std::uint64_t>(shape.prefix_groups));
  add_tokens(kTemplateTokens, options.template_tokens, talk.opening);
  add_tokens(kPrefixTokens + static_cast<TokenId>(group) * 8192, shape.prefix_tokens, talk.opening);
  const int num_turns = shape.kind == WorkloadKind::multi_turn ? shape.turns : 1;
  for (int i = 0; i < num_turns; ++i) {
    sim::FleetTalk::Turn& turn = talk.turns.emplace_back();
    const auto first =
        kOwnTokens + static_cast<TokenId>((index * 7919 + static_cast<std::uint64_t>(i) * 131) % (1u << 30));
    add_tokens(first, varied(shape.input_tokens), turn.tokens);
    turn.output_tokens = varied(shape.output_tokens);
  }
  return talk;
}

sim::FleetRun run_fleet(const SimOptions& options, const sched::SchedulerOptions& scheduler,
                        const LoadPhase& phase) {
  const sim::FleetOptions fleet{.num_workers = options.num_workers,
                                .num_gateways = options.num_gateways,
                                .policy = options.route,
                                .report_every_s = options.report_every_s,
                                .scheduler = scheduler,
                                .costs = options.costs};
  const sim::FleetLoad load{.num_users = phase.concurrency,
                            .num_requests = phase.num_requests,
                            .think_s = options.client_s,
                            .seed = options.session.shape.seed,
                            .talk = [&options, number = phase.number](std::uint64_t index) {
                              return talk_of(options, number, index);
                            }};
  return sim::simulate_fleet(fleet, load, options.session.shape.seed);
}

std::string fleet_note(const SimOptions& options, const sim::FleetRun& run, const LoadPhase& phase) {
  const double total = static_cast<double>(std::max<std::int64_t>(1, run.num_prompt_tokens));
  return fmt::format(
      "phase {}: {} over {} workers; {:.1f} % of the prompts' tokens were cached; requests by worker {}",
      phase.number, options.route, options.num_workers,
      100.0 * static_cast<double>(run.num_cached_tokens) / total, fmt::join(run.requests, " "));
}

PhaseRun seen_by_clients(sim::SimRun run, const LoadPhase& phase) {
  PhaseRun seen{.window_s = phase.duration_s > 0 ? phase.duration_s : run.end_s,
                .peak_in_flight = run.peak_in_flight};
  for (sim::SimRecord& record : run.records) {
    RequestRecord& request = seen.records.emplace_back();
    request.scheduled_s = request.sent_s = record.arrived_s;
    request.first_s = record.tokens_s.front();
    request.end_s = record.tokens_s.back();
    request.prompt_tokens = record.prompt_tokens;
    request.cached_tokens = record.cached_tokens;
    request.output_tokens = static_cast<int>(record.tokens_s.size());
    request.counted = true;
    request.chunks_s = std::move(record.tokens_s);
  }
  for (int i = 0; i < run.num_refused; ++i)
    seen.records.push_back({.end_s = 0, .failure = Failure::refused, .message = "too large"});
  for (int i = 0; i < run.num_overload; ++i)
    seen.records.push_back({.end_s = 0, .failure = Failure::refused, .message = "would be late"});
  return seen;
}

// Says how many first tokens came at about the time that was forecast.
std::string forecasts_note(const sim::SimRun& run, const LoadPhase& phase) {
  const auto is_near = [](const sim::SimRecord& record) {
    const double ttft_s = record.tokens_s.front() - record.arrived_s;
    return std::abs(record.predicted_s - ttft_s) <= 0.25 * ttft_s;
  };
  const auto num_near = std::ranges::count_if(run.records, is_near);
  return fmt::format("phase {}: {:.1f} % of {} first tokens within 25 % of their forecast", phase.number,
                     100.0 * static_cast<double>(num_near) / std::max<double>(1, run.records.size()),
                     run.records.size());
}

// Sets the SLOs as a server does at its start.
void settle_slo(sched::SchedulerOptions& scheduler, LoadReport& report) {
  const sched::ReachableSlo reached =
      sched::reachable_slo(scheduler.cost, scheduler.max_batch_sequences, scheduler.slo);
  scheduler.slo = reached.slo;
  scheduler.least_slo = reached.least;
  if (!report.slo.ttft_s) report.slo.ttft_s = reached.slo.ttft_s;
  if (!report.slo.tpot_s) report.slo.tpot_s = reached.slo.tpot_s;
  const std::string steps = scheduler.target_step_s > 0
                                ? fmt::format("steps of {:g} ms", scheduler.target_step_s * 1e3)
                                : "steps as long as the SLOs allow";
  report.notes.push_back(fmt::format("{}; SLO {:.0f} ms to the first token, {:.0f} ms for each other one{}{}",
                                     steps, reached.slo.ttft_s * 1e3, reached.slo.tpot_s * 1e3,
                                     reached.reason.empty() ? "" : ": ", reached.reason));
}

}  // namespace

base::Result<LoadReport> run_sim(const SimOptions& options) {
  const bool is_fleet = options.num_workers > 0;
  if (is_fleet && (!options.session.rates.empty() || options.session.num_requests <= 0))
    return base::error(base::ErrorCode::invalid_argument,
                       "a fleet is simulated with users who talk: give --concurrency and --requests");
  if ((!is_fleet && options.session.shape.kind == WorkloadKind::multi_turn) || !options.session.trace.empty())
    return base::error(base::ErrorCode::invalid_argument,
                       "a simulation has no answers that a next turn could follow, and reads no traces");
  const WorkloadOptions& shape = options.session.shape;
  LoadReport report{.url = "a modelled device",
                    .endpoint = "simulation",
                    .model = options.device,
                    .workload = options.session.workload,
                    .input_tokens = shape.input_tokens,
                    .output_tokens = shape.output_tokens,
                    .seed = shape.seed,
                    .slo = options.session.slo};
  sched::SchedulerOptions scheduler = options.scheduler;
  scheduler.cost =
      sim::calibrated_cost(options.costs, scheduler.max_batch_sequences, scheduler.max_batch_tokens);
  settle_slo(scheduler, report);
  for (const LoadPhase& phase : plan_phases(options.session)) {
    if (is_fleet) {
      sim::FleetRun run = run_fleet(options, scheduler, phase);
      report.notes.push_back(fleet_note(options, run, phase));
      report.runs.push_back(seen_by_clients(std::move(run.all), phase));
      report.phases.push_back(summarize(phase, report.runs.back(), report.slo));
      continue;
    }
    sim::SimRun run = sim::simulate(scheduler, options.costs, load_of(options, phase), shape.seed);
    if (options.admits_by_goodput) report.notes.push_back(forecasts_note(run, phase));
    report.runs.push_back(seen_by_clients(std::move(run), phase));
    report.phases.push_back(summarize(phase, report.runs.back(), report.slo));
  }
  return report;
}

}  // namespace kvasir::bench
