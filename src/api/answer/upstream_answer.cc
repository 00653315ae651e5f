#include "api/answer/upstream_answer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "api/answer/answer.h"
#include "api/answer/run/revocable_stream.h"
#include "api/answer/seat/wait_watch.h"
#include "api/answer/upstream/upstream_body.h"
#include "api/answer/upstream/upstream_stream.h"
#include "api/answer/write/answer_writer.h"
#include "api/http/work/text_task.h"
#include "tenancy/counters.h"
#include "upstream/call.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

constexpr auto kPoll = std::chrono::milliseconds(5);  // how often the first request in line asks again
// How long a request waits for a place if its tier never refuses a request for its SLO.
constexpr auto kMaxWait = std::chrono::seconds(60);
constexpr int kUsualAnswer = 4096;  // tokens reserved for an answer that nothing bounds
constexpr int kLeastAnswer = 1024;

// Describes the request for the writer and the keeper of its answer. The job has no tokens.
Job describe_job(const upstream::Pool& pool, const GenerateParams& params, const UpstreamBody& body,
                 int max_context) {
  auto text = std::make_shared<router::ChatText>();
  text->name = pool.name();
  text->context_length = pool.context_length();
  if (max_context > 0 && (text->context_length == 0 || text->context_length > max_context))
    text->context_length = max_context;
  text->fingerprint = "upstream";
  Job job;
  job.text = std::move(text);
  job.sequences.resize(static_cast<std::size_t>(body.num_prompts * params.n));
  job.num_sampled = params.n;
  job.num_kept = params.n;
  job.with_logprobs = params.sampling.logprobs;
  job.warnings = body.warnings;
  job.context.window = job.text->context_length;
  job.context.prompt_tokens = body.prompt_tokens;
  job.context.requested_max_tokens = params.max_tokens;
  return job;
}

// The number of tokens to reserve for an answer. An error if the caller's tier leaves no room for any.
Result<int> longest_answer(const Job& job, int max_context) {
  const int asked = job.context.requested_max_tokens.value_or(kUsualAnswer);
  if (max_context == 0) return asked;
  const int room = max_context - job.context.prompt_tokens;
  if (room > 0) return std::min(asked, room);
  return Error{ErrorCode::invalid_argument,
               fmt::format("the prompt has about {} tokens, and a request may have {} with its answer",
                           job.context.prompt_tokens, max_context),
               {},
               "context_length_exceeded"};
}

// Reserves the request's tokens of the tenant's limits, and bounds its answers by what was granted.
Result<tenancy::Permit> enter(Service& service, const Asker& asker, Job& job, upstream::Ask& ask) {
  const int max_context = asker.caller.tier->max_context;
  TRY(const int longest, longest_answer(job, max_context));
  const auto num_sequences = static_cast<std::int64_t>(job.sequences.size());
  const std::int64_t prompt = job.context.prompt_tokens;
  tenancy::Cost cost{.sequences = static_cast<int>(num_sequences),
                     .tokens = prompt + longest * num_sequences,
                     .requests = asker.num_requests};
  if (!job.context.requested_max_tokens)
    cost.least_tokens = prompt + std::min(longest, kLeastAnswer) * num_sequences;
  const obs::SpanScope admission(*asker.meter->trace()->spans, "admission");
  TRY(tenancy::Permit permit, service.admission.enter(asker.caller, cost));
  const auto granted = static_cast<int>((permit.tokens() - prompt) / num_sequences);
  const int bound = std::min(longest, granted);
  // The upstream's own default applies unless the request or its tenant bounds the answer.
  if (job.context.requested_max_tokens || max_context > 0 || bound < longest) ask.max_tokens = bound;
  job.context.max_tokens = bound;
  for (wire::GenerateRequest& sequence : job.sequences) sequence.max_tokens = bound;
  return permit;
}

Error full(const Error& why, const tenancy::Tier& tier) {
  Error error = why;
  error.code = ErrorCode::unavailable;
  if (tier.max_wait_ms == 0) error.message += " (tier '" + tier.name + "' does not wait)";
  return error;
}

// Finds a place at an upstream. If all upstreams are full, the request waits in the model's line.
class PlaceSearch {
 public:
  PlaceSearch(Service& service, Outlet& out, const Asker& asker, upstream::Pool& pool, const Job& job)
      : service_(service), out_(out), asker_(asker), pool_(pool), job_(job) {}

  asio::awaitable<Result<upstream::Slot>> find(std::uint64_t affinity, Outlet* pinged) {
    const tenancy::Tier& tier = *asker_.caller.tier;
    Result<upstream::Slot> slot = ask(affinity);
    if (slot.ok() || slot.error().code != ErrorCode::exhausted) co_return slot;
    if (tier.max_wait_ms == 0) co_return full(slot.error(), tier);
    const obs::SpanScope waits(*out_.exchange().trace->spans, "admission wait");
    const auto ticket = service_.lobby.join(guest(), out_.exchange().responder.executor());
    if (!ticket) co_return full(slot.error(), tier);
    const WaitWatch watch(out_, *ticket);
    base::Duration wait = kMaxWait;
    if (tier.max_wait_ms > 0) wait = std::chrono::milliseconds(tier.max_wait_ms);
    const base::TimePoint deadline = service_.clock.now() + wait;
    base::TimePoint ping_at = service_.clock.now() + service_.options.ping_interval;
    for (;;) {
      if (service_.drains()) co_return draining_error(service_);
      if (ticket->is_first()) {
        slot = pool_.pick(affinity);
        if (slot.ok() || slot.error().code != ErrorCode::exhausted) co_return slot;
      }
      const base::TimePoint now = service_.clock.now();
      if (now >= deadline) co_return full(slot.error(), tier);
      if (now >= ping_at && pinged != nullptr) {
        ping_at = now + service_.options.ping_interval;
        Status said = co_await pinged->start();
        if (said.ok()) said = co_await pinged->ping();
        if (!said.ok()) co_return std::move(said).error();
      }
      const base::Duration left = std::min(deadline, std::max(ping_at, now + kPoll)) - now;
      co_await ticket->wait(ticket->is_first() ? std::min<base::Duration>(left, kPoll) : left);
      if (Status still = watch.check(); !still.ok()) co_return std::move(still).error();
    }
  }

 private:
  // Requests that wait already go first.
  Result<upstream::Slot> ask(std::uint64_t affinity) {
    if (!service_.lobby.has_line(job_.text->name, asker_.caller.tier->priority)) return pool_.pick(affinity);
    return Error{ErrorCode::exhausted, fmt::format("all upstreams of '{}' are full; try again", pool_.name()),
                 "model", "server_overloaded", 1};
  }
  Lobby::Guest guest() const {
    const tenancy::Caller& caller = asker_.caller;
    return {.model = job_.text->name,
            .priority = caller.tier->priority,
            .flow = caller.flow,
            .weight = caller.tier->weight,
            .cost = std::max<std::int64_t>(1, job_.context.prompt_tokens)};
  }

  Service& service_;
  Outlet& out_;
  const Asker& asker_;
  upstream::Pool& pool_;
  const Job& job_;
};

// Waits until an upstream's answer has begun. If that takes long, a stream gets its headers and pings
// meanwhile. Before the headers are sent, an error is sent as an HTTP status.
asio::awaitable<Status> await_accepted(const ServiceOptions& options, Outlet& out, UpstreamStream& stream,
                                       KeyWatch& key, Outlet* pinged) {
  while (!stream.accepted() && !stream.cancelled()) {
    co_await stream.wait_accepted(options.ping_interval);
    if (key.ended()) co_return key.why();
    if (stream.accepted() || stream.cancelled() || pinged == nullptr) continue;
    Status said = co_await out.start();
    if (said.ok()) said = co_await out.ping();
    if (!said.ok()) co_return said;
  }
  if (stream.cancelled()) co_return base::error(ErrorCode::cancelled, "the client left");
  if (auto refused = stream.refuse()) co_return std::move(*refused);
  co_return base::ok();
}

asio::awaitable<Result<UpstreamBody>> write_body(Service& service, Outlet& out,
                                                 std::shared_ptr<const QuestionText> text,
                                                 std::size_t num_bytes) {
  TextTask<UpstreamBody>::Work work = [text](const std::stop_token&) { return write_upstream_body(*text); };
  co_return co_await run_text_work<UpstreamBody>(service.reading, out.exchange(), num_bytes, std::move(work),
                                                 out.when_left());
}

// The headers that tell the upstream about the request. `span` is the parent of the upstream's own span.
std::vector<net::HttpHeader> headers_of(const Exchange& exchange, obs::Trace::Index span) {
  std::vector<net::HttpHeader> headers{{"X-Request-Id", exchange.id}};
  const obs::TraceHeaders trace = exchange.trace->spans->headers(span);
  if (!trace.traceparent.empty()) headers.emplace_back("traceparent", trace.traceparent);
  if (!trace.tracestate.empty()) headers.emplace_back("tracestate", trace.tracestate);
  return headers;
}

// The span of the upstream's work in the request's trace. Ends when it is destroyed.
class UpstreamSpan {
 public:
  UpstreamSpan(obs::Trace& spans, const std::string& model) : spans_(spans), span_(spans.begin("upstream")) {
    spans_.set_kind(span_, obs::SpanKind::client);
    spans_.note(span_, "gen_ai.request.model", model);
  }
  ~UpstreamSpan() {
    if (call_) {
      spans_.note(span_, "kvasir.upstream", call_->label());
      spans_.note(span_, "kvasir.upstream_tries", call_->num_tries());
      if (call_->failure()) spans_.fail(span_, call_->failure()->reason);
    }
    spans_.end(span_);
  }
  UpstreamSpan(const UpstreamSpan&) = delete;
  UpstreamSpan& operator=(const UpstreamSpan&) = delete;

  obs::Trace::Index index() const { return span_; }
  void set_call(std::shared_ptr<const upstream::Call> call) { call_ = std::move(call); }

 private:
  obs::Trace& spans_;
  const obs::Trace::Index span_;
  std::shared_ptr<const upstream::Call> call_;
};

}  // namespace

std::shared_ptr<upstream::Pool> upstreams_of(const Service& service, const tenancy::Caller& caller,
                                             const std::string& model) {
  if (service.upstreams == nullptr) return nullptr;
  const std::vector<std::string>& reach = caller.tier->models;
  if (!reach.empty() && std::ranges::find(reach, model) == reach.end()) return nullptr;
  return service.upstreams->find(model);
}

asio::awaitable<void> answer_by_upstream(Service& service, Outlet& out, const Asker& asker,
                                         std::shared_ptr<upstream::Pool> pool, Question& question,
                                         std::shared_ptr<const QuestionText> text) {
  Exchange& exchange = out.exchange();
  const GenerateParams params = params_of(*text);
  Outlet* const pinged = params.stream ? &out : nullptr;
  const std::size_t num_bytes = exchange.num_body_bytes + question.num_other_bytes;
  Result<UpstreamBody> body = co_await write_body(service, out, std::move(text), num_bytes);
  if (!body.ok()) co_return co_await out.fail(std::move(body).error());
  exchange.request.body_hold.reset();
  out.add_header("x-kvasir-model", pool->name());

  Job job = describe_job(*pool, params, *body, asker.caller.tier->max_context);
  upstream::Ask ask(std::move(body->path), std::move(body->fields));
  ask.affinity = body->affinity;
  ask.num_choices = static_cast<int>(job.sequences.size());
  Result<tenancy::Permit> permit = enter(service, asker, job, ask);
  if (!permit.ok()) co_return co_await out.fail(std::move(permit).error());
  if (job.context.worth_telling()) out.add_header("x-kvasir-context", context_header(job.context));
  for (const std::string& warning : job.warnings) exchange.headers.emplace_back("x-kvasir-warning", warning);

  const base::TimePoint waits_since = service.clock.now();
  PlaceSearch search(service, out, asker, *pool, job);
  Result<upstream::Slot> slot = co_await search.find(ask.affinity, pinged);
  if (!slot.ok()) co_return co_await out.fail(std::move(slot).error());
  const double queued_s = base::seconds(service.clock.now() - waits_since);

  AnswerHead head = make_head(params, job, out.id());
  AnswerWriter writer(out, {question.make_shape(head), head.extra, question.keeper, params.stream, job,
                            params.receipt ? std::optional(Promise{}) : std::nullopt});
  Status begun = co_await writer.begin(job);
  if (!begun.ok()) co_return co_await out.fail(std::move(begun).error());

  UpstreamSpan span(*exchange.trace->spans, pool->name());
  ask.headers = headers_of(exchange, span.index());
  const std::shared_ptr<upstream::Call> call = upstream::Call::start(
      pool, std::move(*slot), std::move(ask), service.upstreams->running(), exchange.responder.executor());
  span.set_call(call);
  UpstreamStream stream({.permit = std::move(*permit),
                         .call = call,
                         .clock = service.clock,
                         .metrics = service.metrics.of_model(pool->name()),
                         .meter = asker.meter,
                         .estimated_prompt_tokens = job.context.prompt_tokens,
                         .queued_s = queued_s},
                        job);
  exchange.responder.on_disconnect([&out, &stream] {
    if (out.resumable())
      out.detach();
    else
      stream.cancel();
  });
  out.key().on_end([&stream] { stream.cancel(); });
  begun = co_await await_accepted(service.options, out, stream, out.key(), pinged);
  exchange.responder.on_disconnect({});
  out.key().on_end({});
  if (!begun.ok()) co_return co_await writer.refuse(std::move(begun).error());
  RevocableStream revocable(stream, out.key());
  co_await write_answer(service, out, asker, revocable, writer);
}

}  // namespace kvasir::api
