#include "api/respond.h"

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "api/outlet.h"
#include "api/text_task.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

AnswerHead make_head(const GenerateParams& params, const router::Lease& lease, const std::string& id) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return AnswerHead{.id = id,
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

asio::awaitable<void> respond_whole(Outlet& out, Generation& generation, ResponseShape& shape,
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
      Delta& sum = choices[static_cast<std::size_t>(delta.index)];
      join(sum, std::move(delta));
    }
  }
  if (generation.cancelled()) co_return;
  co_await reply(out.exchange(), net::HttpResponse::json(200, shape.whole(choices, generation.usage())));
}

asio::awaitable<void> respond_streamed(Outlet& out, Generation& generation, ResponseShape& shape,
                                       base::Duration ping_interval) {
  const base::Status started = co_await out.start();
  if (!started.ok()) co_return;
  std::string events = shape.opening(generation.num_choices(), generation.usage());
  while (true) {
    base::Status written = base::ok();
    if (!events.empty()) written = co_await out.write(std::move(events));
    if (!written.ok()) co_return;
    if (generation.over()) break;
    if (out.abandoned()) generation.cancel();
    Result<std::vector<Delta>> deltas = co_await generation.next(ping_interval);
    events.clear();
    if (!deltas.ok()) {
      const Error error = as_client_error(deltas.error());
      co_await out.fail(error, &shape);
      co_return;
    }
    for (const Delta& delta : *deltas) events += shape.chunks(delta);
    if (generation.cancelled()) co_return;
    if (generation.over()) events += shape.closing(generation.usage());
    if (events.empty()) written = co_await out.ping();
    if (!written.ok()) co_return;
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
  std::optional<GivenUpOnDisconnect<Job>> watch;
  if (!out.resumable()) watch.emplace(responder, task);
  bool done = co_await task.wait(service.options.headers_after);
  if (!done && request.params.stream) {
    base::Status written = co_await out.start();
    while (written.ok()) {
      done = co_await task.wait(service.options.ping_interval);
      if (done) break;
      written = co_await out.ping();
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

asio::awaitable<void> run(Service& service, Outlet& out, const ReadRequest& request, Job job) {
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
  const std::unique_ptr<ResponseShape> shape =
      request.make_shape(make_head(request.params, job.lease, out.id()));
  ModelMetrics& metrics = service.metrics.of_model(job.lease.name());
  net::Responder& responder = out.exchange().responder;
  Result<std::unique_ptr<Generation>> generation =
      Generation::start(std::move(job), std::move(*permit), {responder.executor(), service.clock, metrics});
  if (!generation.ok()) {
    const Error error = as_client_error(std::move(generation).error());
    co_await out.fail(error);
    co_return;
  }
  responder.on_disconnect([&out, &running = **generation] {
    if (out.resumable())
      out.detach();
    else
      running.cancel();
  });
  if (request.params.stream)
    co_await respond_streamed(out, **generation, *shape, service.options.ping_interval);
  else
    co_await respond_whole(out, **generation, *shape, service.options.ping_interval);
  responder.on_disconnect({});
  out.exchange().usage = (*generation)->usage();
}

}  // namespace

asio::awaitable<void> respond(Service& service, Exchange& exchange, Read read, const AnswerKind& kind) {
  Outlet out(service, exchange, kind);
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
  if (request->params.resumable) {
    const base::Status opened = out.make_resumable();
    if (!opened.ok()) {
      co_await out.fail(opened.error());
      co_return;
    }
  }
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
  co_await run(service, out, *request, std::move(*job));
}

}  // namespace kvasir::api
