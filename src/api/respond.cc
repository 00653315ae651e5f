#include "api/respond.h"

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "api/error_map.h"
#include "api/request_id.h"
#include "api/text_task.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

AnswerHead make_head(const GenerateParams& params, const router::Lease& lease, const AnswerKind& kind) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return AnswerHead{.id = make_id(kind.id_prefix),
                    .created_s = std::chrono::duration_cast<std::chrono::seconds>(now).count(),
                    .model = lease.name(),
                    .fingerprint = lease.model().fingerprint,
                    .tokenizer = lease.model().tokenizer,
                    .with_logprobs = params.sampling.logprobs,
                    .include_usage = params.include_usage};
}

// The worker's words for a sequence that cannot fit are about memory; to the client its prompt is too long,
// or its grammar too complex.
Error as_client_error(Error error) {
  if (error.code != ErrorCode::too_large) return error;
  error.code = ErrorCode::invalid_argument;
  if (error.reason.empty()) error.reason = "context_length_exceeded";
  return error;
}

// The way out of an answer. An error is a status while nothing has gone out, and a stream's last event then.
class Outlet {
 public:
  explicit Outlet(Exchange& exchange) : exchange_(exchange) {}

  // Sends a stream's headers, once.
  asio::awaitable<base::Status> start() {
    if (writer_ != nullptr) co_return base::ok();
    std::vector<net::HttpHeader> headers;
    headers.emplace_back("x-request-id", exchange_.id);
    Result<net::SseWriter*> writer = co_await exchange_.responder.start_stream(std::move(headers));
    if (!writer.ok()) co_return std::move(writer).error();
    exchange_.status = 200;
    writer_ = *writer;
    co_return base::ok();
  }
  asio::awaitable<base::Status> write(std::string events) { return writer_->write(std::move(events)); }
  asio::awaitable<base::Status> finish() { return writer_->finish(); }

  asio::awaitable<void> fail(const Error& error) {
    if (error.code == ErrorCode::cancelled && exchange_.responder.disconnected()) co_return;
    if (writer_ == nullptr) {
      co_await reply_error(exchange_, error);
      co_return;
    }
    note_error(exchange_, error);
    std::string event = "data: " + base::json_text(error_body(error)) + "\n\n";
    const base::Status written = co_await write(std::move(event));
    if (written.ok()) (void)co_await finish();
  }

  Exchange& exchange() { return exchange_; }

 private:
  Exchange& exchange_;
  net::SseWriter* writer_ = nullptr;  // the responder's own, once the headers are out
};

void join_calls(std::vector<CallDelta>& calls, std::vector<CallDelta> pieces) {
  for (CallDelta& piece : pieces) {
    if (!calls.empty() && calls.back().index == piece.index)
      calls.back().arguments += piece.arguments;
    else
      calls.push_back(std::move(piece));
  }
}

asio::awaitable<void> respond_whole(Outlet& out, Generation& generation, const ResponseShape& shape,
                                    base::Duration wait) {
  std::vector<Delta> choices(static_cast<std::size_t>(generation.num_choices()));
  while (!generation.over()) {
    Result<std::vector<Delta>> deltas = co_await generation.next(wait);
    if (!deltas.ok()) {
      const Error error = as_client_error(deltas.error());
      co_await out.fail(error);
      co_return;
    }
    for (Delta& delta : *deltas) {
      Delta& choice = choices[static_cast<std::size_t>(delta.index)];
      choice.index = delta.index;
      choice.text += delta.text;
      choice.reasoning += delta.reasoning;
      join_calls(choice.calls, std::move(delta.calls));
      choice.has_calls = delta.has_calls;
      std::move(delta.lines.begin(), delta.lines.end(), std::back_inserter(choice.lines));
      choice.finish = delta.finish;
    }
  }
  if (generation.cancelled()) co_return;
  co_await reply(out.exchange(), net::HttpResponse::json(200, shape.whole(choices, generation.usage())));
}

asio::awaitable<void> respond_streamed(Outlet& out, Generation& generation, const ResponseShape& shape,
                                       base::Duration ping_interval) {
  const base::Status started = co_await out.start();
  if (!started.ok()) co_return;
  std::string events = shape.opening(generation.num_choices());
  while (true) {
    if (!events.empty()) {
      base::Status written = co_await out.write(std::move(events));
      if (!written.ok()) co_return;
    }
    if (generation.over()) break;
    Result<std::vector<Delta>> deltas = co_await generation.next(ping_interval);
    events.clear();
    if (!deltas.ok()) {
      const Error error = as_client_error(deltas.error());
      co_await out.fail(error);
      co_return;
    }
    for (const Delta& delta : *deltas) events += shape.chunks(delta);
    if (generation.cancelled()) co_return;
    if (generation.over()) events += shape.closing(generation.usage());
    if (events.empty()) events = ": ping\n\n";
  }
  (void)co_await out.finish();
}

// The request's tokens. A stream that has to wait for them gets its headers meanwhile, and pings.
asio::awaitable<Result<Job>> encode(Service& service, Outlet& out, ReadRequest& request,
                                    std::size_t num_bytes) {
  if (num_bytes <= kSmallBody && !request.compiles) co_return request.encode({});
  net::Responder& responder = out.exchange().responder;
  TextTask<Job> task(request.compiles ? service.compiling : service.tokenizing, responder.executor(),
                     std::move(request.encode));
  const GivenUpOnDisconnect<Job> watch(responder, task);
  bool done = co_await task.wait(service.options.headers_after);
  if (!done && request.params.stream) {
    base::Status written = co_await out.start();
    while (written.ok()) {
      done = co_await task.wait(service.options.ping_interval);
      if (done) break;
      std::string ping = ": ping\n\n";
      written = co_await out.write(std::move(ping));
    }
    if (!written.ok()) co_return std::move(written).error();
  }
  while (!done) done = co_await task.wait(service.options.ping_interval);
  co_return task.take();
}

// One that could not be queued even where nothing else is would be told to try again for ever.
base::Status check_num_sequences(const GenerateParams& params, const Job& job, int at_most) {
  if (job.sequences.size() <= static_cast<std::size_t>(at_most)) return base::ok();
  return Error{ErrorCode::invalid_argument,
               fmt::format("the request asks for {} answers at once, this server gives at most {}",
                           job.sequences.size(), at_most),
               params.n > 1 ? "n" : "prompt", "invalid_value"};
}

asio::awaitable<void> run(Service& service, Outlet& out, const GenerateParams& params, Job job,
                          const AnswerKind& kind) {
  const tenancy::Tenant tenant = tenancy::anonymous();
  tenancy::Cost cost{.sequences = static_cast<int>(job.sequences.size())};
  for (wire::GenerateRequest& sequence : job.sequences) {
    sequence.cache_namespace = tenant.name;
    cost.tokens += static_cast<std::int64_t>(sequence.prompt.size()) + sequence.max_tokens;
  }
  Result<tenancy::Permit> permit = service.admission.enter(tenant, cost);
  if (!permit.ok()) {
    co_await out.fail(permit.error());
    co_return;
  }
  const std::unique_ptr<ResponseShape> shape = kind.make_shape(make_head(params, job.lease, kind));
  ModelMetrics& metrics = service.metrics.of_model(job.lease.name());
  net::Responder& responder = out.exchange().responder;
  Result<std::unique_ptr<Generation>> generation =
      Generation::start(std::move(job), std::move(*permit), {responder.executor(), service.clock, metrics});
  if (!generation.ok()) {
    const Error error = as_client_error(std::move(generation).error());
    co_await out.fail(error);
    co_return;
  }
  responder.on_disconnect([&running = **generation] { running.cancel(); });
  if (params.stream)
    co_await respond_streamed(out, **generation, *shape, service.options.ping_interval);
  else
    co_await respond_whole(out, **generation, *shape, service.options.ping_interval);
  responder.on_disconnect({});
  out.exchange().usage = (*generation)->usage();
}

}  // namespace

asio::awaitable<void> respond(Service& service, Exchange& exchange, Read read, const AnswerKind& kind) {
  Outlet out(exchange);
  const std::size_t num_bytes = exchange.request.body.size();
  // The work alone holds the body: it may be large, and the answer may take long.
  auto body = std::make_shared<const std::string>(std::move(exchange.request.body));
  TextTask<ReadRequest>::Work work = [&service, read, body = std::move(body)](const std::stop_token&) {
    return read(service, *body);
  };
  Result<ReadRequest> request =
      co_await run_text_work<ReadRequest>(service.reading, exchange, num_bytes, std::move(work));
  if (!request.ok()) {
    co_await out.fail(request.error());
    co_return;
  }
  exchange.model = request->params.model;
  Result<Job> job = co_await encode(service, out, *request, num_bytes);
  exchange.request.body_hold.reset();
  if (!job.ok()) {
    co_await out.fail(job.error());
    co_return;
  }
  const base::Status fits = check_num_sequences(request->params, *job, service.options.max_sequences);
  if (!fits.ok()) {
    co_await out.fail(fits.error());
    co_return;
  }
  co_await run(service, out, request->params, std::move(*job), kind);
}

}  // namespace kvasir::api
