#include <algorithm>
#include <cmath>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "api/answer/prepare.h"
#include "api/http/caller.h"
#include "api/http/text_task.h"
#include "api/openai/embedding_request.h"
#include "api/openai/embedding_task.h"
#include "api/openai/endpoints.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// A tokenized request. It has a constructor for g++ 12; see net::HttpHeader.
struct EmbedJob {
  EmbedJob(router::EmbedTextPtr model_in, EmbeddingRequest request_in)
      : model(std::move(model_in)), request(std::move(request_in)) {}

  router::EmbedTextPtr model;
  EmbeddingRequest request;
  std::vector<std::vector<TokenId>> sequences;
  int num_tokens = 0;
};

Error in_input(const EmbeddingRequest& request, std::size_t i, Error error) {
  error.field.clear();
  return in_field("input", request.inputs.size() > 1 ? in_field(fmt::format("[{}]", i), std::move(error))
                                                     : std::move(error));
}

Result<EmbedJob> read(Service& service, const tenancy::Caller& caller, std::string_view body,
                      const std::stop_token& stop) {
  TRY(json::object object, parse_object(body, service.options.max_json_depth));
  TRY(EmbeddingRequest request, read_embedding_request(std::move(object)));
  TRY(router::EmbedTextPtr model, service.router.embed_text(request.model, reach_of(caller)));
  const int most = model->dimensions;
  if (request.dimensions.value_or(1) > most)
    return in_field("dimensions", wrong_value(fmt::format("the model's vectors have {} numbers", most)));
  EmbedJob job(std::move(model), std::move(request));
  for (std::size_t i = 0; i < job.request.inputs.size(); ++i) {
    auto tokens = encode_text(*job.model, job.request.inputs[i], stop);
    if (!tokens.ok()) return in_input(job.request, i, std::move(tokens).error());
    job.num_tokens += static_cast<int>(tokens->size());
    job.sequences.push_back(std::move(*tokens));
  }
  return job;
}

// Keeps the first `to` numbers of each vector and scales it to length 1.
std::vector<float> shorten(const std::vector<float>& vectors, std::size_t from, std::size_t to) {
  std::vector<float> out;
  out.reserve(vectors.size() / from * to);
  for (std::size_t first = 0; first < vectors.size(); first += from) {
    double squares = 0;
    for (std::size_t d = 0; d < to; ++d)
      squares += static_cast<double>(vectors[first + d]) * vectors[first + d];
    const double factor = squares > 0 ? 1 / std::sqrt(squares) : 0;
    for (std::size_t d = 0; d < to; ++d) out.push_back(static_cast<float>(vectors[first + d] * factor));
  }
  return out;
}

std::string answer_text(const EmbedJob& job, std::vector<float> vectors) {
  const int most = job.model->dimensions;
  const int dimensions = job.request.dimensions.value_or(most);
  if (dimensions < most)
    vectors = shorten(vectors, static_cast<std::size_t>(most), static_cast<std::size_t>(dimensions));
  return base::json_text(json::object{
      {"object", "list"},
      {"data", embedding_data(vectors, dimensions, job.request.encoding)},
      {"model", job.model->name},
      {"usage", json::object{{"prompt_tokens", job.num_tokens}, {"total_tokens", job.num_tokens}}}});
}

// Makes the body of the answer.
asio::awaitable<Result<std::string>> run(Service& service, Exchange& exchange, RequestMeter& meter,
                                         std::shared_ptr<EmbedJob> job) {
  obs::Trace& spans = *exchange.trace->spans;
  const tenancy::Cost cost{.sequences = 1, .tokens = job->num_tokens};
  obs::SpanScope admission(spans, "admission");
  Result<tenancy::Permit> permit = service.admission.enter(exchange.caller, cost);
  if (!permit.ok()) co_return std::move(permit).error();
  admission.end();
  obs::SpanScope route(spans, "route");
  Result<router::EmbedLease> lease = service.router.pick(*job->model);
  if (!lease.ok()) co_return std::move(lease).error();
  route.end();
  const auto dimensions = static_cast<std::size_t>(job->model->dimensions);
  const std::size_t num_bytes = job->sequences.size() * dimensions * 8;  // approximate size of the answer
  const auto begin = [&meter, &job] {
    meter.begin(job->model->name);
    meter.add({.prompt_tokens = job->num_tokens}, meter::Finish::cancelled);  // if the client leaves
  };
  obs::SpanScope span(spans, "embeddings " + job->model->name);
  span.note("gen_ai.operation.name", "embeddings");
  span.note("gen_ai.provider.name", "kvasir");
  span.note("gen_ai.request.model", job->model->name);
  span.note("gen_ai.response.model", job->model->name);
  span.note("gen_ai.usage.input_tokens", job->num_tokens);
  Result<std::vector<float>> vectors =
      co_await embed(exchange.responder, lease->worker(), std::move(job->sequences), begin);
  if (!vectors.ok()) span.fail(vectors.error().reason);
  span.end();
  // A client that left may have been computed for; what failed costs nothing.
  if (vectors.ok() || vectors.error().code == ErrorCode::cancelled) permit->settle(cost.tokens);
  if (!vectors.ok()) co_return std::move(vectors).error();
  service.metrics.of_model(job->model->name).prompt_tokens.add(static_cast<std::uint64_t>(job->num_tokens));
  exchange.usage.prompt_tokens = job->num_tokens;
  auto shared = std::make_shared<std::vector<float>>(std::move(*vectors));
  TextTask<std::string>::Work work = [job, shared](const std::stop_token&) -> Result<std::string> {
    return answer_text(*job, std::move(*shared));
  };
  co_return co_await run_text_work<std::string>(service.tokenizing, exchange, num_bytes, std::move(work));
}

}  // namespace

asio::awaitable<void> handle_embeddings(Service& service, Exchange& exchange) {
  const auto body = std::make_shared<const std::string>(std::move(exchange.request.body));
  TextTask<std::shared_ptr<EmbedJob>>::Work work =
      [&service, caller = exchange.caller,
       body](const std::stop_token& stop) -> Result<std::shared_ptr<EmbedJob>> {
    TRY(EmbedJob job, read(service, caller, *body, stop));
    return std::make_shared<EmbedJob>(std::move(job));
  };
  obs::SpanScope tokenize(*exchange.trace->spans, "tokenize");
  Result<std::shared_ptr<EmbedJob>> job = co_await run_text_work<std::shared_ptr<EmbedJob>>(
      service.tokenizing, exchange, body->size(), std::move(work));
  exchange.request.body_hold.reset();
  tokenize.end();
  if (!job.ok()) {
    if (job.error().code != ErrorCode::cancelled) co_await reply_error(exchange, job.error());
    co_return;
  }
  exchange.model = (*job)->model->name;
  const Asker asker = asker_of(service, exchange);
  Result<std::string> answer = co_await run(service, exchange, *asker.meter, std::move(*job));
  const bool left = !answer.ok() && answer.error().code == ErrorCode::cancelled;
  if (left) co_return;
  const Commit commit = asker.meter->close(answer.ok() ? meter::Finish::stop : meter::Finish::failed,
                                           exchange.responder.executor());
  co_await commit.wait();
  if (!answer.ok()) co_return co_await reply_error(exchange, answer.error());
  co_await reply(exchange, net::HttpResponse::json(200, std::move(*answer)));
}

}  // namespace kvasir::api
