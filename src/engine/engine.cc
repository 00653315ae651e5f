#include "engine/engine.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "obs/log.h"

namespace kvasir::engine {

base::Error engine_failed() {
  return {.code = base::ErrorCode::unavailable,
          .message = "the engine of this model failed and is being restarted; try again",
          .reason = "engine_failed",
          .retry_after_s = 5};
}

namespace {

constexpr double kRecentS = 10;  // how fast the recent work fades

double on_wall(base::TimePoint time) {
  return base::seconds(time.time_since_epoch());
}

// The answer to a request whose resumed output leaves nothing to compute.
wire::TokenEvent rest_of(const Engine::Arrival& arrival) {
  wire::TokenEvent event{.finish = arrival.resumption.finish};
  for (const TokenId token : arrival.resumption.forced) event.tokens.push_back({.id = token});
  event.usage.prompt_tokens = static_cast<int>(arrival.request.prompt.size());
  event.usage.output_tokens = static_cast<int>(arrival.request.resumed.size() + event.tokens.size());
  return event;
}

}  // namespace

Engine::Engine(const EngineOptions& options, Runner& runner, const base::Clock& clock)
    : options_(options), runner_(runner), clock_(clock), scheduler_(options.scheduler) {}

base::Result<Engine::Arrival> Engine::prepare(const EngineOptions& options, wire::GenerateRequest request,
                                              std::shared_ptr<seam::TokenStream> stream, base::TimePoint at) {
  if (!request.ignore_eos)
    request.stop_tokens.insert(request.stop_tokens.end(), options.end_tokens.begin(),
                               options.end_tokens.end());
  TRY(sched::Resumption resumption, sched::replay_output(request));
  return Arrival{std::move(request), std::move(resumption), std::move(stream), at};
}

void Engine::submit(wire::GenerateRequest request, std::shared_ptr<seam::TokenStream> stream,
                    base::TimePoint arrived) {
  base::Result<Arrival> arrival = prepare(options_, std::move(request), stream, arrived);
  if (arrival.ok()) return submit(*std::move(arrival));
  seam::TokenStream::send({{std::move(stream), {.error = std::move(arrival).error()}}});
}

void Engine::submit(Arrival arrival) {
  auto& [request, resumption, stream, at] = arrival;
  if (failure_) return seam::TokenStream::send({{std::move(stream), {.error = engine_failed()}}});
  if (resumption.finish) return seam::TokenStream::send({{std::move(stream), rest_of(arrival)}});
  if (obs::Log::enabled(obs::LogLevel::debug))
    obs::Log::debug("sequence_queued", {{"id", request.origin.request_id},
                                        {"tenant", request.origin.tenant},
                                        {"prompt_tokens", request.prompt.size()},
                                        {"resumed_tokens", request.resumed.size()},
                                        {"max_tokens", request.max_tokens}});
  scheduler_.set_now(on_wall(at));
  base::Result<sched::SequenceId> id = scheduler_.submit(std::move(request), std::move(resumption));
  if (id.ok()) {
    readers_.emplace(*id, Reader{std::move(stream)});
  } else {
    seam::TokenStream::send({{std::move(stream), {.error = std::move(id).error()}}});
  }
}

bool Engine::step() {
  if (failure_) return false;
  watch_readers();
  const base::TimePoint began = clock_.now();
  scheduler_.set_now(on_wall(began));
  scheduler_.take_arrivals();
  sched::StepPlan plan = scheduler_.plan();
  std::optional<wire::StepRecord> record;
  const double plan_s = base::seconds(clock_.now() - began);
  if (!plan.empty()) stats_.plan_s += plan_s;
  if (log_ != nullptr && !plan.empty() && log_->is_watched()) {
    record = record_of(plan);
    record->started_s = on_wall(began);
    record->plan_s = plan_s;
  }
  if (!plan.empty() && runner_.overlaps()) {
    start(std::move(plan), std::move(record));
    return true;
  }
  if (in_flight_) {
    collect();
    return true;
  }
  if (plan.empty()) return false;
  run(plan, std::move(record));
  return true;
}

void Engine::start(sched::StepPlan plan, std::optional<wire::StepRecord> record) {
  begin(plan);
  runner_.start(plan);
  if (in_flight_)
    collect();
  else
    last_end_ = clock_.now();
  if (failure_) return;
  scheduler_.refresh(plan);
  runner_.draw(plan);
  in_flight_ = std::move(plan);
  in_flight_record_ = std::move(record);
}

void Engine::begin(const sched::StepPlan& plan) {
  scheduler_.begin(plan);
  begun_s_ = plan.predicted_s;
  if (on_begun_) on_begun_();
  begun_s_ = 0;
}

sched::Outlook Engine::outlook() const {
  sched::Outlook outlook = scheduler_.outlook();
  outlook.in_flight_s = begun_s_;
  if (in_flight_)
    outlook.in_flight_s += std::max(0.0, in_flight_->predicted_s - base::seconds(clock_.now() - last_end_));
  return outlook;
}

void Engine::collect() {
  const sched::StepPlan plan = *std::exchange(in_flight_, {});
  base::Result<sched::StepResult> result = runner_.collect();
  if (!result.ok()) return fail(std::move(result).error());
  const base::TimePoint end = clock_.now();
  result->seconds = base::seconds(end - last_end_);
  last_end_ = end;
  finish(plan, std::move(*result), std::exchange(in_flight_record_, {}));
}

void Engine::watch_readers() {
  for (auto it = readers_.begin(); it != readers_.end();) {
    auto& [id, reader] = *it;
    if (reader.stream->cancelled()) {
      scheduler_.abort(id);
      it = readers_.erase(it);
      continue;
    }
    const int most = reader.is_behind ? options_.max_backlog_tokens / 2 : options_.max_backlog_tokens;
    const bool is_behind = reader.stream->backlog() > most;
    if (is_behind && !reader.is_behind) scheduler_.hold(id);
    if (!is_behind && reader.is_behind) scheduler_.resume(id);
    reader.is_behind = is_behind;
    ++it;
  }
}

void Engine::run(const sched::StepPlan& plan, std::optional<wire::StepRecord> record) {
  begin(plan);
  const base::TimePoint start = clock_.now();
  base::Result<sched::StepResult> result = runner_.run(plan);
  if (!result.ok()) return fail(std::move(result).error());
  result->seconds = base::seconds(clock_.now() - start);
  finish(plan, std::move(*result), std::move(record));
}

void Engine::finish(const sched::StepPlan& plan, sched::StepResult result,
                    std::optional<wire::StepRecord> record) {
  const double run_s = result.seconds;
  const base::TimePoint end = clock_.now();
  count(plan, run_s);
  scheduler_.set_now(on_wall(end));
  hand_out(plan, result);
  deliver(scheduler_.finish(plan, std::move(result)));
  const double commit_s = base::seconds(clock_.now() - end);
  stats_.commit_s += commit_s;
  if (!record) return;
  record->run_s = run_s;
  record->commit_s = commit_s;
  log_->add(std::move(*record));
}

void Engine::fail(base::Error error) {
  failure_ = std::move(error);
  fail_all(engine_failed());
}

void Engine::count(const sched::StepPlan& plan, double seconds) {
  stats_.last_step_s = seconds;
  stats_.last_predicted_s = plan.predicted_s;
  stats_.step_s += seconds;
  stats_.predicted_s += plan.predicted_s;
  stats_.absolute_error_s += std::abs(seconds - plan.predicted_s);
  stats_.last_batch = static_cast<int>(plan.slices.size());
  const StepWork work = work_of(options_.footprint, plan);
  stats_.work.bytes += work.bytes;
  stats_.work.flops += work.flops;
  const double kept = std::exp(-seconds / kRecentS);
  stats_.recent_work.bytes = kept * stats_.recent_work.bytes + work.bytes;
  stats_.recent_work.flops = kept * stats_.recent_work.flops + work.flops;
  stats_.recent_s = kept * stats_.recent_s + seconds;
}

// Stored blocks go out before the events of the same step.
void Engine::hand_out(const sched::StepPlan& plan, sched::StepResult& result) {
  CHECK(result.stored.size() == plan.stores.size(), "{} blocks of {} stores", result.stored.size(),
        plan.stores.size());
  for (std::size_t i = 0; i < plan.stores.size(); ++i) {
    const sched::StepPlan::Store& store = plan.stores[i];
    if (!result.outcomes[store.slice].error) store.to->put(store.index, std::move(result.stored[i]));
  }
}

void Engine::deliver(std::vector<sched::SequenceEvent> events) {
  std::vector<seam::TokenStream::Delivery> deliveries;
  deliveries.reserve(events.size());
  for (sched::SequenceEvent& event : events) {
    const auto found = readers_.find(event.sequence);
    CHECK(found != readers_.end(), "sequence {} has no reader", event.sequence);
    deliveries.push_back({found->second.stream, std::move(event.event)});
    if (deliveries.back().event.last()) readers_.erase(found);
  }
  seam::TokenStream::send(std::move(deliveries));
}

EngineStats Engine::stats() const {
  EngineStats stats = stats_;
  stats.sequences = scheduler_.stats();
  return stats;
}

void Engine::fail_all(const base::Error& error) {
  if (in_flight_) collect();
  std::vector<seam::TokenStream::Delivery> deliveries;
  for (auto& [id, reader] : readers_) {
    scheduler_.abort(id);
    deliveries.push_back({std::move(reader.stream), {.error = error}});
  }
  readers_.clear();
  seam::TokenStream::send(std::move(deliveries));
}

}  // namespace kvasir::engine
