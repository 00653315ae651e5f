#include "api/machine/machine_view.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>
#include <variant>

#include "api/machine/queue_depth.h"
#include "kv/block.h"
#include "obs/metric.h"

namespace kvasir::api {

namespace {

// Converts to milliseconds with three digits after the point, so that an event stays short.
double as_ms(double seconds) {
  return std::round(seconds * 1e6) / 1e3;
}

json::array numbers(const std::vector<std::uint64_t>& counts) {
  json::array numbers;
  for (const std::uint64_t count : counts) numbers.emplace_back(count);
  return numbers;
}

json::object as_object(const std::map<int, int>& queue) {
  json::object object;
  for (const auto& [priority, num] : queue) object[std::to_string(priority)] = num;
  return object;
}

json::object as_object(const wire::WorkerReport& report) {
  return {{"blocks", report.num_blocks},
          {"free_blocks", report.num_free_blocks - report.num_cached_blocks},
          {"cached_blocks", report.num_cached_blocks},
          {"running", report.num_running},
          {"waiting", report.num_waiting},
          {"progressing", report.progressing}};
}

json::object as_object(const wire::WorkerCounters& counters) {
  return {{"steps", counters.steps},
          {"prefill_tokens", counters.prefill_tokens},
          {"decode_tokens", counters.decode_tokens},
          {"cached_tokens", counters.cached_tokens},
          {"output_tokens", counters.output_tokens},
          {"preemptions", counters.preemptions},
          {"finished", counters.finished},
          {"failed", counters.failed},
          {"aborted", counters.aborted},
          {"step_s", counters.step_s}};
}

json::object as_object(const ModelTotals& totals) {
  return {{"completed", totals.completed},
          {"failed", totals.failed},
          {"aborted", totals.aborted},
          {"prompt_tokens", totals.prompt_tokens},
          {"cached_tokens", totals.cached_tokens},
          {"output_tokens", totals.output_tokens}};
}

// A slice is an array, which keeps events short: request, tenant, rows, and 1 for rows of a prompt.
json::object as_object(const wire::StepRecord& step, double now_s) {
  json::array slices;
  for (const wire::StepRecord::Slice& slice : step.slices)
    slices.push_back(json::array{slice.request_id, slice.tenant, slice.num_rows, slice.is_prompt ? 1 : 0});
  return {{"n", step.number},
          {"ago_ms", as_ms(now_s - step.started_s)},
          {"plan_ms", as_ms(step.plan_s)},
          {"run_ms", as_ms(step.run_s)},
          {"commit_ms", as_ms(step.commit_s)},
          {"predicted_ms", as_ms(step.predicted_s)},
          {"preempted", step.num_preempted},
          {"other_rows", step.num_other_rows},
          {"slices", std::move(slices)}};
}

json::object as_object(const wire::LiveSequence& one) {
  return {{"id", one.request_id},         {"tenant", one.tenant},
          {"priority", one.priority},     {"state", one.held ? "held" : one.runs ? "running" : "waiting"},
          {"prompt", one.num_prompt},     {"cached", one.num_cached},
          {"computed", one.num_computed}, {"output", one.num_output},
          {"max_output", one.max_output}, {"blocks", one.num_blocks},
          {"age_ms", as_ms(one.age_s)}};
}

// NaN becomes null, since JSON has no NaN.
json::value number_or_null(double number) {
  return std::isnan(number) ? json::value(nullptr) : json::value(number);
}

}  // namespace

json::object MachineView::constants() {
  json::array bounds;
  for (const double bound : obs::latency_bounds()) bounds.emplace_back(bound);
  return {{"version", KVASIR_VERSION}, {"block_tokens", kv::kBlockTokens}, {"latency_bounds", bounds}};
}

json::object MachineView::describe(const router::ModelStatus& model) {
  json::object object{{"name", model.name}, {"state", name_of(model.state.phase)}};
  if (model.state.phase == router::Phase::downloading) object["progress"] = model.state.progress;
  if (service_.residence != nullptr) object["pinned"] = service_.residence->stays(model.name);
  if (model.memory.sum() > 0) object["memory"] = model.memory.sum();
  if (!model.state.reason.empty()) object["reason"] = model.state.reason;
  if (!model.text) return object;
  object["context"] = common_text(*model.text).context_length;
  object["task"] = std::holds_alternative<router::EmbedTextPtr>(*model.text) ? "embed" : "generate";
  if (model.report) object["report"] = as_object(*model.report);
  describe_work(model, object);
  return object;
}

void MachineView::describe_work(const router::ModelStatus& model, json::object& into) {
  const auto members = service_.router.members_of(model.name, model.version);
  if (members.empty()) return;
  wire::WorkerCounters counters;
  json::array steps;
  json::array sequences;
  for (const auto& member : members) {
    std::uint64_t& last_step = telling_[member] = told_[member];
    const wire::Activity activity = member->worker->activity(last_step);
    counters += activity.counters;
    for (const wire::StepRecord& step : activity.steps) {
      json::object& told = steps.emplace_back(as_object(step, activity.now_s)).as_object();
      if (member->id != router::kLocalMember) told["worker"] = member->id;
      last_step = step.number;
    }
    for (const wire::LiveSequence& one : activity.sequences) sequences.push_back(as_object(one));
  }
  into["queue"] = as_object(queue_of(service_, model));
  into["counters"] = as_object(counters);
  into["totals"] = as_object(service_.metrics.totals(model.name));
  const auto latencies = [&](obs::Histogram& (*of)(ClassMetrics&)) {
    return numbers(service_.metrics.counts(model.name, of));
  };
  into["ttft"] = latencies([](ClassMetrics& metrics) -> obs::Histogram& { return metrics.ttft; });
  into["tpot"] = latencies([](ClassMetrics& metrics) -> obs::Histogram& { return metrics.tpot; });
  into["itl"] = latencies([](ClassMetrics& metrics) -> obs::Histogram& { return metrics.itl; });
  json::object goodput;
  for (const auto& [tier, ratio] : service_.metrics.goodputs(model.name))
    goodput[tier] = number_or_null(ratio);
  into["goodput"] = std::move(goodput);
  into["steps"] = std::move(steps);
  into["sequences"] = std::move(sequences);
}

// Adds what the router knows about a worker besides its standing; nothing if the worker is in no pool.
void MachineView::describe_member(const std::vector<router::ModelStatus>& models,
                                  const fleet::WorkerStanding& worker, json::object& into) {
  if (service_.router.is_distrusted(worker.model, worker.id)) into["state"] = "distrusted";
  for (const router::ModelStatus& model : models) {
    if (model.name != worker.model) continue;
    const auto member = std::ranges::find(model.members, worker.id, &router::MemberStatus::id);
    if (member == model.members.end()) continue;
    into["leases"] = member->num_leases;
    into["report"] = as_object(member->report);
    std::vector<std::string> out;
    if (const auto failures = service_.router.failures(model.name))
      failures->ejections.append_out(out, service_.clock.now());
    if (std::ranges::find(out, worker.id) != out.end()) into["state"] = "ejected";
  }
}

json::array MachineView::describe_fleet(const std::vector<router::ModelStatus>& models) {
  json::array workers;
  if (service_.fleet == nullptr) return workers;
  for (const fleet::WorkerStanding& worker : service_.fleet->workers()) {
    json::object object{{"id", worker.id},
                        {"address", worker.address},
                        {"model", worker.model},
                        {"build", worker.build},
                        {"state", worker.state}};
    if (!worker.reason.empty()) object["reason"] = worker.reason;
    if (worker.state == "ready") describe_member(models, worker, object);
    workers.push_back(std::move(object));
  }
  return workers;
}

json::array MachineView::describe_upstreams() const {
  json::array all;
  if (service_.upstreams == nullptr) return all;
  for (const auto& pool : service_.upstreams->pools())
    for (const auto& member : pool->members()) {
      const upstream::Member::View view = member->view();
      all.push_back({{"label", member->label()},
                     {"model", pool->name()},
                     {"state", member->is_ejected() ? "ejected"
                               : member->is_up()    ? "ready"
                                                    : "down"},
                     {"in_flight", view.in_flight},
                     {"load", view.load},
                     {"most", member->config().max_in_flight}});
    }
  return all;
}

json::object MachineView::look() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::vector<router::ModelStatus> statuses = service_.router.models();
  json::array models;
  telling_.clear();
  for (const router::ModelStatus& model : statuses) models.push_back(describe(model));
  told_ = std::move(telling_);
  json::object refusals;
  for (const auto& [reason, count] : service_.metrics.refusals()) refusals[reason] = count;
  const std::int64_t budget = service_.residence == nullptr ? 0 : service_.residence->budget_bytes();
  return {{"at_ms", std::chrono::duration_cast<std::chrono::milliseconds>(now).count()},
          {"models", std::move(models)},
          {"workers", describe_fleet(statuses)},
          {"upstreams", describe_upstreams()},
          {"model_memory", budget},
          {"lobby", service_.lobby.num_waiting()},
          {"refusals", std::move(refusals)}};
}

}  // namespace kvasir::api
