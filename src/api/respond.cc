#include "api/respond.h"

#include <chrono>
#include <utility>
#include <vector>

#include "api/error_map.h"
#include "api/request_id.h"

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

// The worker's words for a sequence that cannot fit are about memory; to the client its prompt is too long.
Error as_client_error(Error error) {
  if (error.code != ErrorCode::too_large) return error;
  error.code = ErrorCode::invalid_argument;
  error.reason = "context_length_exceeded";
  return error;
}

asio::awaitable<void> respond_whole(Exchange& exchange, Generation& generation, const ResponseShape& shape,
                                    base::Duration wait) {
  std::vector<Delta> choices(static_cast<std::size_t>(generation.num_choices()));
  while (!generation.over()) {
    Result<std::vector<Delta>> deltas = co_await generation.next(wait);
    if (!deltas.ok()) {
      co_await reply_error(exchange, deltas.error());
      co_return;
    }
    for (Delta& delta : *deltas) {
      Delta& choice = choices[static_cast<std::size_t>(delta.index)];
      choice.index = delta.index;
      choice.text += delta.text;
      std::move(delta.lines.begin(), delta.lines.end(), std::back_inserter(choice.lines));
      choice.finish = delta.finish;
    }
  }
  if (generation.cancelled()) co_return;
  co_await reply(exchange, net::HttpResponse::json(200, shape.whole(choices, generation.usage())));
}

asio::awaitable<void> respond_streamed(Exchange& exchange, Generation& generation, const ResponseShape& shape,
                                       base::Duration ping_interval) {
  std::vector<net::HttpHeader> headers = {{"x-request-id", exchange.id}};
  Result<net::SseWriter*> writer = co_await exchange.responder.start_stream(std::move(headers));
  if (!writer.ok()) co_return;
  exchange.status = 200;
  std::string events = shape.opening(generation.num_choices());
  while (true) {
    if (!events.empty()) {
      base::Status written = co_await (*writer)->write(std::move(events));
      if (!written.ok()) co_return;
    }
    if (generation.over()) break;
    Result<std::vector<Delta>> deltas = co_await generation.next(ping_interval);
    events.clear();
    if (!deltas.ok()) {
      note_error(exchange, deltas.error());
      events = "data: " + base::json_text(error_body(deltas.error())) + "\n\n";
      continue;
    }
    for (const Delta& delta : *deltas) events += shape.chunks(delta);
    if (generation.cancelled()) co_return;
    if (generation.over()) events += shape.closing(generation.usage());
    if (events.empty()) events = ": ping\n\n";
  }
  (void)co_await (*writer)->finish();
}

asio::awaitable<void> run(Service& service, Exchange& exchange, PreparedRequest request,
                          const AnswerKind& kind) {
  exchange.request.body = {};  // it may be large, and the answer may take long
  exchange.model = request.job.lease.name();
  const tenancy::Tenant tenant = tenancy::anonymous();
  tenancy::Cost cost{.sequences = static_cast<int>(request.job.sequences.size())};
  for (wire::GenerateRequest& sequence : request.job.sequences) {
    sequence.cache_namespace = tenant.name;
    cost.tokens += static_cast<std::int64_t>(sequence.prompt.size()) + sequence.max_tokens;
  }
  Result<tenancy::Permit> permit = service.admission.enter(tenant, cost);
  if (!permit.ok()) {
    co_await reply_error(exchange, permit.error());
    co_return;
  }
  const std::unique_ptr<ResponseShape> shape =
      kind.make_shape(make_head(request.params, request.job.lease, kind));
  ModelMetrics& metrics = service.metrics.of_model(request.job.lease.name());
  Result<std::unique_ptr<Generation>> generation = Generation::start(
      std::move(request.job), std::move(*permit), {exchange.responder.executor(), service.clock, metrics});
  if (!generation.ok()) {
    co_await reply_error(exchange, as_client_error(std::move(generation).error()));
    co_return;
  }
  exchange.responder.on_disconnect([&running = **generation] { running.cancel(); });
  if (request.params.stream)
    co_await respond_streamed(exchange, **generation, *shape, service.options.ping_interval);
  else
    co_await respond_whole(exchange, **generation, *shape, service.options.ping_interval);
  exchange.responder.on_disconnect({});
  exchange.usage = (*generation)->usage();
}

}  // namespace

asio::awaitable<void> respond(Service& service, Exchange& exchange, Prepare prepare, const AnswerKind& kind) {
  auto work = [&] { return prepare(service, exchange.request.body); };
  Result<PreparedRequest> prepared = co_await run_text_work(service, exchange.request.body.size(), work);
  if (!prepared.ok()) {
    co_await reply_error(exchange, prepared.error());
    co_return;
  }
  co_await run(service, exchange, std::move(*prepared), kind);
}

}  // namespace kvasir::api
