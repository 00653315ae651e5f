#include "api/answer/run/generation_spans.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace kvasir::api {

using obs::Trace;

namespace {

base::TimePoint time_of(double seconds) {
  return base::TimePoint(std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(seconds)));
}

}  // namespace

GenerationSpans::GenerationSpans(std::shared_ptr<RequestTrace> trace, base::TimePoint started)
    : trace_(std::move(trace)), started_(started) {}

void GenerationSpans::begin(const Job& job) {
  if (!spans().records()) return;
  root_ = spans().add(fmt::format("{} {}", trace_->operation, job.text->name), started_, {});
  const wire::GenerateRequest& first = job.sequences.front();
  num_choices_ = static_cast<int>(job.sequences.size());
  has_queued_.resize(job.sequences.size());
  spans().note(root_, "gen_ai.operation.name", trace_->operation);
  spans().note(root_, "gen_ai.provider.name", "kvasir");
  spans().note(root_, "gen_ai.request.model", job.text->name);
  spans().note(root_, "gen_ai.response.model", job.text->name);
  spans().note(root_, "gen_ai.request.max_tokens", first.max_tokens);
  spans().note(root_, "gen_ai.request.temperature", static_cast<double>(first.sampling.temperature));
  spans().note(root_, "gen_ai.request.top_p", static_cast<double>(first.sampling.top_p));
  if (num_choices_ > 1) spans().note(root_, "gen_ai.request.choice.count", num_choices_);
}

Trace::Index GenerationSpans::add(const char* name, int choice, base::TimePoint start, base::TimePoint end) {
  const Trace::Index span = spans().add(name, start, std::max(start, end), root_);
  if (num_choices_ > 1) spans().note(span, "kvasir.choice", choice);
  return span;
}

void GenerationSpans::note_prefill(int choice, const std::vector<wire::PrefillChunk>& chunks) {
  if (chunks.empty() || root_ == Trace::kNone) return;
  const base::TimePoint began = std::max(started_, time_of(chunks.front().began_s));
  const bool first = !has_queued_[static_cast<std::size_t>(choice)];
  has_queued_[static_cast<std::size_t>(choice)] = true;
  if (first) add("queue", choice, started_, began);
  const Trace::Index prefill = add("prefill", choice, began, time_of(chunks.back().ended_s));
  int num_tokens = 0;
  for (const wire::PrefillChunk& chunk : chunks) {
    const base::TimePoint start = std::max(began, time_of(chunk.began_s));
    const Trace::Index span =
        spans().add("prefill chunk", start, std::max(start, time_of(chunk.ended_s)), prefill);
    spans().note(span, "kvasir.step", chunk.step);
    spans().note(span, "kvasir.tokens", chunk.num_tokens);
    if (chunk.num_steps > 1) spans().note(span, "kvasir.steps", chunk.num_steps);
    num_tokens += chunk.num_tokens;
  }
  spans().note(prefill, "kvasir.tokens", num_tokens);
  if (!first) spans().note(prefill, "kvasir.preempted", true);
}

void GenerationSpans::note_first_token(int choice, base::TimePoint time) {
  if (root_ == Trace::kNone) return;
  std::vector<obs::Attribute> attributes;
  if (num_choices_ > 1) attributes.push_back({"kvasir.choice", std::int64_t{choice}});
  spans().event(root_, "first token", time, std::move(attributes));
}

void GenerationSpans::note_decode(int choice, base::TimePoint first_token, base::TimePoint last_token) {
  if (root_ != Trace::kNone) add("decode", choice, first_token, last_token);
}

void GenerationSpans::end(const wire::Usage& usage, meter::Finish finish, const base::Error* failure) {
  if (root_ == Trace::kNone) return;
  spans().note(root_, "gen_ai.usage.input_tokens", usage.prompt_tokens);
  spans().note(root_, "gen_ai.usage.output_tokens", usage.output_tokens);
  spans().note(root_, "gen_ai.usage.cache_read.input_tokens", usage.cached_tokens);
  spans().note(root_, "gen_ai.response.finish_reasons",
               std::vector<std::string>{std::string(name_of(finish))});
  spans().note(root_, "kvasir.queued_ms", usage.queued_s * 1e3);
  if (usage.num_preemptions > 0) spans().note(root_, "kvasir.preemptions", usage.num_preemptions);
  if (usage.num_moves > 0) spans().note(root_, "kvasir.moved", usage.num_moves);
  if (failure != nullptr) spans().fail(root_, failure->reason.empty() ? "failed" : failure->reason);
  spans().end(root_);
}

}  // namespace kvasir::api
