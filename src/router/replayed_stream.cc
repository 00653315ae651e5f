#include "router/replayed_stream.h"

#include <algorithm>
#include <utility>

#include "wire/worker_lost.h"

namespace kvasir::router {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::milliseconds kFirstPause{20};
constexpr std::chrono::milliseconds kLongestPause{500};

// True if the request is not at fault: another worker, or the same one later, may take it.
bool may_pass(const base::Error& error) {
  return error.code == base::ErrorCode::unavailable || error.code == base::ErrorCode::exhausted;
}

}  // namespace

ReplayedStream::ReplayedStream(std::shared_ptr<Itinerary> itinerary, asio::any_io_executor reader)
    : itinerary_(std::move(itinerary)), reader_(std::move(reader)), stay_(itinerary_->stay()) {}

base::Result<std::shared_ptr<ReplayedStream>> ReplayedStream::begin(std::shared_ptr<Itinerary> itinerary,
                                                                    wire::GenerateRequest request,
                                                                    asio::any_io_executor reader) {
  std::shared_ptr<ReplayedStream> stream(new ReplayedStream(std::move(itinerary), std::move(reader)));
  if (!Itinerary::is_last(stream->stay_)) stream->request_ = request;
  base::Status asked = stream->ask(std::move(request));
  while (!asked.ok() && stream->request_ && wire::is_worker_lost(asked.error())) {
    stream->itinerary_->note_refused(stream->stay_, asked.error());
    const auto next = stream->itinerary_->leave(stream->stay_, *stream->request_);
    if (!next.ok()) break;
    stream->stay_ = *next;
    asked = stream->ask(*stream->request_);
    if (!asked.ok()) stream->itinerary_->give_back_retry();
  }
  if (!asked.ok()) return std::move(asked).error();
  return stream;
}

base::Status ReplayedStream::ask(wire::GenerateRequest request) {
  // The logprobs of a prompt's tokens are known only where they are computed.
  if (!request.num_prompt_logprobs) request.prefill = stay_->route().prefill;
  TRY(seam::TokenReader stream, stay_->worker().generate(std::move(request), reader_));
  stream->on_event(on_event_);
  stream_.emplace(std::move(stream));
  return base::ok();
}

void ReplayedStream::on_event(std::function<void()> callback) {
  on_event_ = std::move(callback);
  if (stream_) (*stream_)->on_event(on_event_);
}

void ReplayedStream::cancel() {
  is_cancelled_ = true;
  timer_.reset();
  if (stream_) (*stream_)->cancel();
}

std::optional<wire::TokenEvent> ReplayedStream::take() {
  if (!stream_) {
    if (!failure_) return std::nullopt;
    return wire::TokenEvent{.error = *std::exchange(failure_, {}), .usage = usage_};
  }
  std::optional<wire::TokenEvent> event = (*stream_)->take();
  if (!event) return event;
  const bool moves = event->error && request_ && !is_cancelled_ && wire::is_worker_lost(*event->error);
  const std::optional<base::Error> lost = moves ? std::exchange(event->error, {}) : std::nullopt;
  if (num_moves_ > 0 || request_) note(*event);
  if (event->finish)
    itinerary_->note_well(stay_, request_ && num_moves_ == 0 ? &*request_ : nullptr, *event->finish);
  if (!lost) return event;
  lose(*lost);
  event->error = std::exchange(failure_, {});
  if (!event->error && event->tokens.empty() && event->prompt.empty() && event->prefill.empty()) return {};
  return event;
}

// Clients see the cost on all workers together, but the cached tokens and the waiting times of the first
// worker that gave output.
void ReplayedStream::note(wire::TokenEvent& event) {
  for (const wire::Token& token : event.tokens) request_->resumed.push_back(token.id);
  if (event.usage.prompt_tokens == 0) {  // an event that is only an error has no usage
    event.usage = usage_;
    return;
  }
  event.usage.num_preemptions += usage_before_.num_preemptions;
  event.usage.num_moves = num_moves_;
  event.usage.charge += usage_before_.charge;
  if (usage_before_.output_tokens > 0) {
    event.usage.cached_tokens = usage_before_.cached_tokens;
    event.usage.queued_s = usage_before_.queued_s;
    event.usage.prefill_s = usage_before_.prefill_s;
  }
  usage_ = event.usage;
}

void ReplayedStream::lose(const base::Error& why) {
  stream_.reset();
  usage_before_ = usage_;
  itinerary_->note_lost(stay_, why);
  pause_ = kFirstPause;
  patient_until_ = asio::steady_timer::clock_type::now() + kPatience;
  look_for_worker();
}

void ReplayedStream::look_for_worker() {
  for (;;) {
    const base::Result<Itinerary::Stay> next = itinerary_->leave(stay_, *request_);
    if (!next.ok()) {
      if (wire::is_worker_lost(next.error()) || !may_pass(next.error())) {
        failure_ = next.error();
        return;
      }
      break;
    }
    stay_ = *next;
    const base::Status asked = ask(*request_);
    if (asked.ok()) {
      ++num_moves_;
      itinerary_->count(FailoverOutcome::moved);
      return;
    }
    itinerary_->note_refused(stay_, asked.error());
    itinerary_->give_back_retry();
    if (may_pass(asked.error())) continue;
    failure_ = asked.error();
    return;
  }
  wait_for_worker();
}

void ReplayedStream::wait_for_worker() {
  const auto now = asio::steady_timer::clock_type::now();
  if (now >= patient_until_) {
    itinerary_->count(FailoverOutcome::no_member);
    failure_ = {.code = base::ErrorCode::unavailable,
                .message = "the worker of this request was lost, and no other is there; try again",
                .reason = std::string(wire::kWorkerLost),
                .retry_after_s = 5};
    return;
  }
  timer_.emplace(reader_, pause_);
  pause_ = std::min(2 * pause_, kLongestPause);
  timer_->async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (error || !self || self->is_cancelled_) return;
    self->itinerary_->forgive();
    self->look_for_worker();
    if (self->failure_ && self->on_event_) self->on_event_();
  });
}

}  // namespace kvasir::router
