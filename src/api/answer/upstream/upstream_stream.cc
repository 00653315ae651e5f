#include "api/answer/upstream/upstream_stream.h"

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "api/http/service/request_id.h"
#include "base/utf8.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Result;

UpstreamStream::UpstreamStream(Parts parts, const Job& job)
    : permit_(std::move(parts.permit)),
      call_(std::move(parts.call)),
      clock_(parts.clock),
      metrics_(parts.metrics),
      meter_(std::move(parts.meter)),
      estimated_prompt_tokens_(parts.estimated_prompt_tokens),
      queued_s_(parts.queued_s),
      with_logprobs_(job.with_logprobs),
      wake_(call_->executor()),
      started_(clock_.now()),
      spans_(meter_->trace(), started_),
      choices_(job.sequences.size()) {
  spans_.begin(job);
  model_ = job.text->name;
  call_->on_news([this] { wake_.cancel(); });
}

UpstreamStream::~UpstreamStream() {
  call_->on_news({});
  settle();
  call_->cancel();
}

asio::awaitable<void> UpstreamStream::sleep(base::Duration wait) {
  wake_.expires_after(std::chrono::duration_cast<asio::steady_timer::duration>(wait));
  boost::system::error_code ignored;
  co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

asio::awaitable<void> UpstreamStream::wait_accepted(base::Duration wait) {
  const base::TimePoint deadline = clock_.now() + wait;
  for (;;) {
    if (call_->accepted() && !settled_ && !std::exchange(begun_, true)) meter_->begin(model_);
    const base::TimePoint now = clock_.now();
    if (accepted() || cancelled_ || now >= deadline) co_return;
    co_await sleep(deadline - now);
  }
}

std::optional<base::Error> UpstreamStream::refuse() {
  if (call_->said_something() || !call_->failure()) return std::nullopt;
  failure_ = call_->failure();
  settle();
  return failure_;
}

asio::awaitable<Result<std::vector<Delta>>> UpstreamStream::next(base::Duration wait) {
  const base::TimePoint deadline = clock_.now() + wait;
  for (;;) {
    if (cancelled_) co_return std::vector<Delta>();
    std::vector<Delta> deltas = collect();
    if (!deltas.empty() || over()) co_return deltas;
    if (call_->over()) {
      if (const auto& failure = call_->failure()) {
        failure_ = *failure;
        settle();
        co_return *failure_;
      }
      finished_ = true;
      end_open_choices(deltas);
      settle();  // before the client learns of the end, so that its limits are settled by then
      co_return deltas;
    }
    const base::TimePoint now = clock_.now();
    if (now >= deadline) co_return deltas;
    co_await sleep(deadline - now);
  }
}

void UpstreamStream::cancel() {
  cancelled_ = true;
  settle();
  call_->cancel();
  wake_.cancel();
}

std::vector<Delta> UpstreamStream::collect() {
  std::vector<Delta> deltas;
  for (upstream::Chunk& chunk : call_->take()) {
    if (chunk.usage) usage_ = chunk.usage;
    for (upstream::SaidChoice& said : chunk.choices) {
      if (choices_[static_cast<std::size_t>(said.index)].finished) continue;
      Delta delta = delta_of(std::move(said));
      if (!delta.empty()) deltas.push_back(std::move(delta));
    }
  }
  return deltas;
}

Delta UpstreamStream::delta_of(upstream::SaidChoice said) {
  Choice& choice = choices_[static_cast<std::size_t>(said.index)];
  Delta delta;
  delta.index = said.index;
  delta.text = std::move(said.text);
  delta.reasoning = std::move(said.reasoning);
  const bool has_text = !delta.text.empty() || !delta.reasoning.empty() || !said.calls.empty();
  const int num_tokens = said.tokens.empty() ? (has_text ? 1 : 0) : static_cast<int>(said.tokens.size());
  measure(choice, said.index, num_tokens);
  take_calls(std::move(said.calls), choice, delta);
  take_tokens(std::move(said.tokens), choice, delta);
  choice.num_tokens += num_tokens;
  delta.num_tokens = choice.num_tokens;
  if (!said.finish.empty()) end(choice, said, delta);
  return delta;
}

// Only the first piece of a call gets an id and a name, though some upstreams repeat them.
void UpstreamStream::take_calls(std::vector<upstream::SaidCall> calls, Choice& choice, Delta& delta) {
  for (upstream::SaidCall& call : calls) {
    CallDelta& piece = delta.calls.emplace_back();
    piece.index = call.index;
    piece.arguments = std::move(call.arguments);
    piece.text_before = delta.text.size();
    if (!choice.calls.insert(call.index).second) continue;
    piece.id = call.id.empty() ? make_id("call") : std::move(call.id);
    piece.name = std::move(call.name);
    choice.has_calls = true;
  }
}

void UpstreamStream::take_tokens(std::vector<upstream::SaidToken> tokens, Choice& choice, Delta& delta) {
  if (!with_logprobs_) return;
  for (upstream::SaidToken& token : tokens) {
    TokenLine& line = delta.lines.emplace_back();
    line.text_offset = choice.num_chars;
    choice.num_chars += base::num_characters(token.text);
    if (token.has_logprob) line.logprob = wire::TokenLogprob{token.logprob, {}};
    line.said = std::make_shared<const upstream::SaidToken>(std::move(token));
  }
}

void UpstreamStream::end(Choice& choice, const upstream::SaidChoice& said, Delta& delta) {
  choice.finished = true;
  delta.finish = said.finish == "length" ? wire::FinishReason::length : wire::FinishReason::stop;
  delta.has_calls = choice.has_calls && said.finish != "length";
  delta.stop_string = said.stop_string;
  if (said.index != 0) return;
  finish_ = delta.has_calls                               ? meter::Finish::tool_calls
            : *delta.finish == wire::FinishReason::length ? meter::Finish::length
                                                          : meter::Finish::stop;
}

void UpstreamStream::end_open_choices(std::vector<Delta>& deltas) {
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    if (choices_[i].finished) continue;
    upstream::SaidChoice said;
    said.index = static_cast<int>(i);
    said.finish = "stop";
    deltas.push_back(delta_of(std::move(said)));
  }
}

void UpstreamStream::measure(Choice& choice, int index, int num_tokens) {
  if (num_tokens == 0) return;
  const base::TimePoint now = clock_.now();
  meter_->note_token();
  if (!first_token_) first_token_ = now;
  if (!choice.last_token)
    spans_.note_first_token(index, now);
  else
    meter_->note_gap(base::seconds(now - *choice.last_token) / num_tokens);
  choice.last_token = now;
}

wire::Usage UpstreamStream::usage() const {
  wire::Usage usage;
  usage.queued_s = queued_s_;
  if (first_token_) usage.prefill_s = base::seconds(*first_token_ - started_);
  usage.prompt_tokens = estimated_prompt_tokens_;
  for (const Choice& choice : choices_) usage.output_tokens += choice.num_tokens;
  if (!usage_) return usage;
  usage.prompt_tokens = usage_->prompt_tokens;
  usage.cached_tokens = usage_->cached_tokens;
  // An upstream may report its usage before the end, so the larger count is used until then.
  usage.output_tokens =
      finished_ ? usage_->output_tokens : std::max(usage_->output_tokens, usage.output_tokens);
  return usage;
}

void UpstreamStream::settle() {
  if (std::exchange(settled_, true)) return;
  if (!failure_ && !finished_) (void)collect();  // counts what came for this client but was not read
  wire::Usage total = usage();
  if ((failure_ && !first_token_) || !call_->accepted()) {
    total = {};  // there was no answer
    permit_.give_back();
  } else {
    permit_.settle(std::int64_t{total.prompt_tokens} + total.output_tokens);
  }
  metrics_.count_tokens(total);
  const meter::Finish finish = failure_    ? meter::Finish::failed
                               : finished_ ? finish_
                                           : meter::Finish::cancelled;
  if (begun_) meter_->add(total, finish);
  for (std::size_t i = 0; i < choices_.size(); ++i)
    if (choices_[i].last_token && first_token_)
      spans_.note_decode(static_cast<int>(i), *first_token_, *choices_[i].last_token);
  spans_.end(total, finish, failure_ ? &*failure_ : nullptr);
}

}  // namespace kvasir::api
