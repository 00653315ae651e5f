#include "api/answer/run/generation.h"

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cmath>
#include <utility>

namespace kvasir::api {

namespace asio = boost::asio;
using base::Result;
using base::Status;

namespace {

meter::Finish finish_of(const Delta& last) {
  if (last.has_calls) return meter::Finish::tool_calls;
  return *last.finish == wire::FinishReason::length ? meter::Finish::length : meter::Finish::stop;
}

}  // namespace

Generation::Generation(int num_choices_per_prompt, tenancy::Permit permit, Surroundings surroundings)
    : permit_(std::move(permit)),
      num_choices_per_prompt_(num_choices_per_prompt),
      executor_(std::move(surroundings.executor)),
      clock_(surroundings.clock),
      metrics_(surroundings.metrics),
      caution_(surroundings.caution),
      meter_(std::move(surroundings.meter)),
      promise_(surroundings.promise),
      wake_(executor_),
      started_(clock_.now()),
      spans_(meter_->trace(), started_) {}

Result<std::unique_ptr<Generation>> Generation::start(Job job, tenancy::Permit permit,
                                                      std::shared_ptr<router::Itinerary> itinerary,
                                                      Surroundings surroundings) {
  std::unique_ptr<Generation> generation(
      new Generation(job.num_sampled, std::move(permit), std::move(surroundings)));
  generation->spans_.begin(job);
  TRY_OK(generation->start_sequences(std::move(job.sequences), job, itinerary));
  generation->running_all_ = true;
  generation->meter_->begin(job.text->name, generation->promise_);
  return generation;
}

Status Generation::start_sequences(std::vector<wire::GenerateRequest> sequences, const Job& job,
                                   const std::shared_ptr<router::Itinerary>& itinerary) {
  running_.reserve(sequences.size());
  for (wire::GenerateRequest& sequence : sequences) {
    const int num_prompt_tokens = static_cast<int>(sequence.prompt.size());
    auto stream = router::ReplayedStream::begin(itinerary, std::move(sequence), executor_);
    if (!stream.ok()) {
      failure_ = stream.error();
      return std::move(stream).error();
    }
    (*stream)->on_event([this] { wake_.cancel(); });
    const auto prompt = running_.size() / static_cast<std::size_t>(num_choices_per_prompt_);
    const auto echo = job.echoes.empty() ? nullptr : job.echoes[prompt];
    running_.push_back({std::move(*stream),
                        Choice(num_choices(), job.text->tokenizer, job.stops, job.reading, echo),
                        num_prompt_tokens});
  }
  return base::ok();
}

Generation::~Generation() {
  for (Running& one : running_) one.stream->on_event({});
  settle();
}

bool Generation::all_finished() const {
  return std::ranges::all_of(running_, [](const Running& one) { return one.choice.finished(); });
}

void Generation::settle() {
  if (std::exchange(settled_, true)) return;
  const bool complete = all_finished();
  for (Running& one : running_) {
    if (one.choice.finished()) continue;
    one.stream->cancel();
    // Counts tokens that were generated for this client, even if it left before they were written.
    if (const auto event = one.stream->take(); event && !event->tokens.empty()) (void)one.choice.push(*event);
  }
  const wire::Usage total = usage();
  settle_permit(total);
  metrics_.count_tokens(total);
  using meter::Finish;
  meter_->note_pace(slowest_pace_s());
  const Finish finish = failure_ ? Finish::failed : complete ? finish_ : Finish::cancelled;
  if (running_all_) meter_->add(total, finish);
  end_spans(total, finish);
}

void Generation::end_spans(const wire::Usage& total, meter::Finish finish) {
  for (std::size_t i = 0; i < running_.size(); ++i)
    if (const Running& one = running_[i]; one.first_token)
      spans_.note_decode(static_cast<int>(i), *one.first_token, *one.last_token);
  spans_.end(total, finish, failure_ ? &*failure_ : nullptr);
}

bool Generation::over() const {
  return cancelled_ || failure_ || all_finished();
}

void Generation::cancel() {
  cancelled_ = true;
  settle();
  wake_.cancel();
}

asio::awaitable<Result<std::vector<Delta>>> Generation::next(base::Duration wait) {
  const base::TimePoint deadline = clock_.now() + wait;
  for (;;) {
    Result<std::vector<Delta>> deltas = collect();
    if (!deltas.ok() || !deltas->empty() || over()) co_return deltas;
    const base::TimePoint now = clock_.now();
    if (now >= deadline) co_return deltas;
    wake_.expires_after(std::chrono::duration_cast<asio::steady_timer::duration>(deadline - now));
    boost::system::error_code ignored;
    co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
}

Result<std::vector<Delta>> Generation::collect() {
  std::vector<Delta> deltas;
  if (failure_) return *failure_;
  if (cancelled_) return deltas;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    Running& one = running_[i];
    if (one.choice.finished()) continue;
    std::optional<wire::TokenEvent> event = one.stream->take();
    if (!event) continue;
    measure(*event, static_cast<int>(i), one);
    if (event->error) {
      failure_ = *std::exchange(event->error, {});
      if (!event->tokens.empty()) (void)one.choice.push(*event);  // the event with the error has tokens too
      settle();
      return *failure_;
    }
    Delta delta = one.choice.push(*event);
    if (delta.finish && delta.index == 0) finish_ = finish_of(delta);
    if (one.choice.finished() && !event->last()) one.stream->cancel();  // a stop string ended the choice
    if (!delta.empty()) deltas.push_back(std::move(delta));
  }
  // This is done before the client learns of the end, so that its limits are settled when it asks again.
  if (all_finished()) settle();
  return deltas;
}

void Generation::measure(const wire::TokenEvent& event, int choice, Running& one) {
  spans_.note_prefill(choice, event.prefill);
  if (event.tokens.empty()) return;
  const base::TimePoint now = clock_.now();
  meter_->note_token();
  if (!std::exchange(any_token_, true)) measure_first(base::seconds(now - started_));
  if (!one.first_token) {
    one.first_token = now;
    spans_.note_first_token(choice, now);
  }
  one.num_tokens += event.tokens.size();
  if (one.last_token)
    meter_->note_gap(base::seconds(now - *one.last_token) / static_cast<double>(event.tokens.size()));
  one.last_token = now;
}

void Generation::measure_first(double seconds) {
  caution_.learn(promise_.predicted_ttft_s, seconds);
  if (promise_.predicted_ttft_s > 0 && seconds > 0)
    metrics_.predicted_ttft_error.observe(std::abs(promise_.predicted_ttft_s - seconds) / seconds);
}

double Generation::slowest_pace_s() const {
  double slowest_s = 0;
  for (const Running& one : running_)
    if (one.num_tokens > 1)
      slowest_s = std::max(slowest_s, base::seconds(*one.last_token - *one.first_token) /
                                          static_cast<double>(one.num_tokens - 1));
  return slowest_s;
}

void Generation::settle_permit(const wire::Usage& total) {
  if (failure_ && !any_token_) return permit_.give_back();
  permit_.settle(std::int64_t{total.prompt_tokens} + total.output_tokens);
}

wire::Usage Generation::usage() const {
  wire::Usage total;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    const wire::Usage& own = running_[i].choice.usage();
    total.output_tokens += own.output_tokens;
    total.num_preemptions += own.num_preemptions;
    total.num_moves += own.num_moves;
    total.charge += own.charge;
    if (i == 0) {
      total.queued_s = own.queued_s;
      total.prefill_s = own.prefill_s;
    }
    if (i % static_cast<std::size_t>(num_choices_per_prompt_) != 0) continue;
    total.prompt_tokens += running_[i].num_prompt_tokens;
    total.cached_tokens += own.cached_tokens;
  }
  return total;
}

}  // namespace kvasir::api
