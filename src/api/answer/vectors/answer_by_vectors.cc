#include "api/answer/vectors/answer_by_vectors.h"

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/answer/encode/prompt.h"
#include "api/answer/model/await_model.h"
#include "api/answer/vectors/embedding_task.h"
#include "api/http/caller/caller.h"
#include "api/http/work/text_task.h"
#include "wire/worker_lost.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

using QuestionPtr = std::shared_ptr<EmbedQuestion>;

constexpr std::size_t kMostWorkers = 3;  // how many workers a request tries

// Has the vectors computed by a worker of the model, or by another one if that worker is lost.
asio::awaitable<Result<std::vector<float>>> compute_somewhere(Service& service, Exchange& exchange,
                                                              const EmbedJob& job,
                                                              std::function<void()> on_queued) {
  const std::function<void()> told = [&on_queued] { on_queued(); };  // copies share `on_queued`'s state
  std::vector<std::string> lost;
  for (;;) {
    obs::SpanScope route(*exchange.trace->spans, "route");
    Result<router::EmbedLease> lease = service.router.pick(*job.model, lost);
    if (!lease.ok()) co_return std::move(lease).error();
    route.end();
    Result<std::vector<float>> vectors =
        co_await embed(exchange.responder, lease->worker(), job.sequences, told);
    const bool is_lost = !vectors.ok() && wire::is_worker_lost(vectors.error());
    if (!is_lost || lease->member() == router::kLocalMember || lost.size() + 1 >= kMostWorkers)
      co_return vectors;
    lost.push_back(lease->member());
  }
}

// The vectors of the job's sequences.
asio::awaitable<Result<std::vector<float>>> compute(Service& service, Exchange& exchange, RequestMeter& meter,
                                                    EmbedJob& job) {
  obs::Trace& spans = *exchange.trace->spans;
  const tenancy::Cost cost{.sequences = 1, .tokens = job.num_tokens};
  obs::SpanScope admission(spans, "admission");
  Result<tenancy::Permit> permit = service.admission.enter(exchange.caller, cost);
  if (!permit.ok()) co_return std::move(permit).error();
  admission.end();
  const auto begin = [&meter, &job, begun = false]() mutable {
    if (std::exchange(begun, true)) return;
    meter.begin(job.model->name);
    meter.add({.prompt_tokens = job.num_tokens}, meter::Finish::cancelled);  // counts if the client leaves
  };
  obs::SpanScope span(spans, "embeddings " + job.model->name);
  span.note("gen_ai.operation.name", "embeddings");
  span.note("gen_ai.provider.name", "kvasir");
  span.note("gen_ai.request.model", job.model->name);
  span.note("gen_ai.response.model", job.model->name);
  span.note("gen_ai.usage.input_tokens", job.num_tokens);
  Result<std::vector<float>> vectors = co_await compute_somewhere(service, exchange, job, begin);
  if (!vectors.ok()) span.fail(vectors.error().reason);
  span.end();
  // Vectors may have been computed for a client that left, so it pays. A failure costs nothing.
  if (vectors.ok() || vectors.error().code == ErrorCode::cancelled) permit->settle(cost.tokens);
  if (!vectors.ok()) co_return std::move(vectors).error();
  service.metrics.of_model(job.model->name).prompt_tokens.add(static_cast<std::uint64_t>(job.num_tokens));
  exchange.usage.prompt_tokens = job.num_tokens;
  co_return std::move(*vectors);
}

std::string body_of(const EmbedQuestion& question, std::vector<float> vectors) {
  json::object answer = question.write(question.job, std::move(vectors));
  if (!question.warnings.empty()) answer["warnings"] = json::value_from(question.warnings);
  return base::json_text(answer);
}

// Makes the body of the answer.
asio::awaitable<Result<std::string>> run(Service& service, Exchange& exchange, RequestMeter& meter,
                                         QuestionPtr question) {
  EmbedJob& job = question->job;
  if (job.sequences.empty()) co_return body_of(*question, {});
  // About the size of the answer.
  const std::size_t num_bytes = job.sequences.size() * static_cast<std::size_t>(job.model->dimensions) * 8;
  Result<std::vector<float>> vectors = co_await compute(service, exchange, meter, job);
  if (!vectors.ok()) co_return std::move(vectors).error();
  auto shared = std::make_shared<std::vector<float>>(std::move(*vectors));
  TextTask<std::string>::Work work = [question, shared](const std::stop_token&) -> Result<std::string> {
    return body_of(*question, std::move(*shared));
  };
  co_return co_await run_text_work<std::string>(service.tokenizing, exchange, num_bytes, std::move(work));
}

}  // namespace

Result<EmbedJob> EmbedReading::job_for(std::string_view model) const {
  TRY(router::EmbedTextPtr text, service.router.embed_text(model, reach_of(caller)));
  return EmbedJob(std::move(text));
}

Status EmbedReading::add(EmbedJob& job, const TextOrTokens& text, std::string_view field,
                         std::optional<int> max_tokens) const {
  auto tokens = encode_text(*job.model, text, max_tokens, stop);
  if (!tokens.ok()) {
    base::Error error = std::move(tokens).error();
    error.field.clear();
    return in_field(field, std::move(error));
  }
  job.num_tokens += static_cast<int>(tokens->size());
  job.sequences.push_back(std::move(*tokens));
  return base::ok();
}

Status read_cut(const json::value& value, TextCut& cut) {
  TRY(const std::int64_t number, read_integer(value, {-1, std::numeric_limits<int>::max()}));
  if (number == 0) return wrong_value("expected at least 1, or -1");
  cut.max_tokens = static_cast<int>(number);
  return base::ok();
}

std::vector<float> shorter_vectors(const std::vector<float>& vectors, int from, int to) {
  const auto length = static_cast<std::size_t>(from);
  const auto kept = static_cast<std::size_t>(to);
  std::vector<float> out;
  out.reserve(vectors.size() / length * kept);
  for (std::size_t first = 0; first < vectors.size(); first += length) {
    double squares = 0;
    for (std::size_t d = 0; d < kept; ++d)
      squares += static_cast<double>(vectors[first + d]) * vectors[first + d];
    const double factor = squares > 0 ? 1 / std::sqrt(squares) : 0;
    for (std::size_t d = 0; d < kept; ++d) out.push_back(static_cast<float>(vectors[first + d] * factor));
  }
  return out;
}

asio::awaitable<void> answer_by_vectors(Service& service, Exchange& exchange, ReadEmbedQuestion read,
                                        MeantModel meant) {
  const auto body = std::make_shared<const std::string>(std::move(exchange.request.body));
  TextTask<QuestionPtr>::Work work = [&service, read, caller = exchange.caller,
                                      body](const std::stop_token& stop) -> Result<QuestionPtr> {
    TRY(json::object object, parse_object(*body, service.options.max_json_depth));
    TRY(EmbedQuestion question, read(std::move(object), {service, caller, stop}));
    return std::make_shared<EmbedQuestion>(std::move(question));
  };
  const auto held = co_await await_model_of(service, exchange, body, meant);
  if (!held.ok()) co_return co_await reply_error(exchange, held.error());
  obs::SpanScope tokenize(*exchange.trace->spans, "tokenize");
  Result<QuestionPtr> question =
      co_await run_text_work<QuestionPtr>(service.tokenizing, exchange, body->size(), std::move(work));
  exchange.request.body_hold.reset();
  tokenize.end();
  if (!question.ok()) {
    if (question.error().code != ErrorCode::cancelled) co_await reply_error(exchange, question.error());
    co_return;
  }
  exchange.model = (*question)->job.model->name;
  for (const std::string& warning : (*question)->warnings)
    exchange.headers.emplace_back("x-kvasir-warning", warning);
  const Asker asker = asker_of(service, exchange);
  Result<std::string> answer = co_await run(service, exchange, *asker.meter, std::move(*question));
  const bool left = !answer.ok() && answer.error().code == ErrorCode::cancelled;
  if (left) co_return;
  const Commit commit = asker.meter->close(answer.ok() ? meter::Finish::stop : meter::Finish::failed,
                                           exchange.responder.executor());
  co_await commit.wait();
  if (!answer.ok()) co_return co_await reply_error(exchange, answer.error());
  co_await reply(exchange, net::HttpResponse::json(200, std::move(*answer)));
}

}  // namespace kvasir::api
