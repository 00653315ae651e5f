#include "api/respond.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "api/outlet.h"
#include "api/summarize.h"
#include "api/text_task.h"
#include "api/tool_rounds.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// The worker's words for a sequence that cannot fit are about memory; to the client its prompt is too long,
// or its grammar too complex.
Error as_client_error(Error error) {
  if (error.code != ErrorCode::too_large) return error;
  error.code = ErrorCode::invalid_argument;
  if (error.reason.empty()) error.reason = "context_length_exceeded";
  return error;
}

// An answer of nothing is the least likely to be wanted.
double mean_logprob(const Delta& choice) {
  double sum = 0;
  int count = 0;
  for (const TokenLine& line : choice.lines) {
    if (line.in_prompt || !line.logprob) continue;
    sum += line.logprob->logprob;
    ++count;
  }
  return count == 0 ? std::numeric_limits<double>::lowest() : sum / count;
}

// Of each prompt's choices the n likeliest by token.
void keep_best(const GenerateParams& params, std::vector<Delta>& choices) {
  if (params.best_of <= params.n) return;
  std::vector<Delta> kept;
  for (std::size_t first = 0; first < choices.size(); first += static_cast<std::size_t>(params.best_of)) {
    const std::span<Delta> group(&choices[first], static_cast<std::size_t>(params.best_of));
    std::ranges::stable_sort(group, std::ranges::greater(), mean_logprob);
    for (Delta& choice : group.first(static_cast<std::size_t>(params.n))) {
      choice.index = static_cast<int>(kept.size());
      if (!params.sampling.logprobs) choice.lines.clear();
      kept.push_back(std::move(choice));
    }
  }
  choices = std::move(kept);
}

// What an answer needs while it is written.
struct Answering {
  Outlet& out;
  DeltaStream& generation;
  ResponseShape& shape;
  const GenerateParams& params;
  AnswerKeeper* keeper;                 // null: the answer is not kept
  std::shared_ptr<json::object> extra;  // the shape's
  base::Duration ping_interval;
  bool kept = false;  // the keeper has seen the end
};

// Once, however the answer ended.
asio::awaitable<base::Status> keep_end(Answering& answering, AnswerKeeper::Ending ending) {
  if (answering.keeper == nullptr || std::exchange(answering.kept, true)) co_return base::ok();
  const wire::Usage usage = answering.generation.usage();
  Result<json::object> fields = co_await answering.keeper->end(ending, usage);
  if (!fields.ok()) co_return std::move(fields).error();
  for (auto& [name, value] : *fields) (*answering.extra)[name] = std::move(value);
  co_return base::ok();
}

asio::awaitable<void> respond_whole(Answering& answering) {
  Outlet& out = answering.out;
  DeltaStream& generation = answering.generation;
  std::vector<Delta> choices(static_cast<std::size_t>(generation.num_choices()));
  while (!generation.over()) {
    Result<std::vector<Delta>> deltas = co_await generation.next(answering.ping_interval);
    if (!deltas.ok()) {
      const Error error = as_client_error(deltas.error());
      (void)co_await keep_end(answering, AnswerKeeper::Ending::failed);
      co_await out.fail(error);
      co_return;
    }
    if (answering.keeper != nullptr) co_await answering.keeper->take(*deltas);
    for (Delta& delta : *deltas) {
      Delta& sum = choices[static_cast<std::size_t>(delta.index)];
      join(sum, std::move(delta));
    }
  }
  if (generation.cancelled()) co_return;
  keep_best(answering.params, choices);
  const base::Status kept = co_await keep_end(answering, AnswerKeeper::Ending::finished);
  if (!kept.ok()) {
    co_await out.fail(kept.error());
    co_return;
  }
  net::HttpResponse response =
      net::HttpResponse::json(200, answering.shape.whole(choices, generation.usage()));
  response.headers = out.headers();
  co_await reply(out.exchange(), std::move(response));
}

asio::awaitable<void> respond_streamed(Answering& answering) {
  Outlet& out = answering.out;
  DeltaStream& generation = answering.generation;
  ResponseShape& shape = answering.shape;
  const base::Status started = co_await out.start();
  if (!started.ok()) co_return;
  std::string events = shape.opening(generation.num_choices(), generation.usage());
  while (true) {
    base::Status written = base::ok();
    if (!events.empty()) written = co_await out.write(std::move(events));
    if (!written.ok()) co_return;
    if (generation.over()) break;
    if (out.abandoned()) generation.cancel();
    Result<std::vector<Delta>> deltas = co_await generation.next(answering.ping_interval);
    events.clear();
    if (!deltas.ok()) {
      const Error error = as_client_error(deltas.error());
      (void)co_await keep_end(answering, AnswerKeeper::Ending::failed);
      co_await out.fail(error, &shape);
      co_return;
    }
    if (answering.keeper != nullptr) co_await answering.keeper->take(*deltas);
    for (const Delta& delta : *deltas) events += shape.chunks(delta);
    if (generation.cancelled()) co_return;
    if (generation.over()) {
      const base::Status kept = co_await keep_end(answering, AnswerKeeper::Ending::finished);
      if (!kept.ok()) {
        co_await out.fail(kept.error(), &shape);
        co_return;
      }
      events += shape.closing(generation.usage());
    }
    if (events.empty()) written = co_await out.ping();
    if (!written.ok()) co_return;
  }
  (void)co_await out.finish();
}

// The request's tokens. A stream that has to wait for them gets its headers meanwhile, and pings.
asio::awaitable<Result<Job>> encode(Service& service, Outlet& out, ReadRequest& request,
                                    std::size_t num_bytes) {
  if (num_bytes <= kSmallBody && !request.takes_long) co_return request.encode({});
  net::Responder& responder = out.exchange().responder;
  TextTask<Job> task(request.takes_long ? service.compiling : service.tokenizing, responder.executor(),
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

// The job once its summary is made.
asio::awaitable<Result<Job>> with_summary(Service& service, Outlet& out, ReadRequest& request, Job job) {
  std::shared_ptr<const SummaryPlan> plan = job.unsummarized;
  Result<std::string> summary = co_await summarize(service, out, request.params, plan);
  if (!summary.ok()) co_return as_client_error(std::move(summary).error());
  auto lease = std::make_shared<router::Lease>(std::move(job.lease));
  request.encode = [plan, lease, text = std::move(*summary)](const std::stop_token& stop) {
    return plan->resume(std::move(*lease), text, stop);
  };
  co_return co_await encode(service, out, request, kSmallBody + 1);
}

asio::awaitable<Result<Job>> make_ready(Service& service, Outlet& out, ReadRequest& request,
                                        std::size_t num_bytes) {
  Result<Job> job = co_await encode(service, out, request, num_bytes);
  if (!job.ok() || !job->unsummarized) co_return job;
  co_return co_await with_summary(service, out, request, std::move(*job));
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
  Result<tenancy::Permit> permit = admit(service, job);
  if (!permit.ok()) {
    co_await out.fail(permit.error());
    co_return;
  }
  const auto extra = std::make_shared<json::object>();
  if (job.context.worth_telling()) {
    (*extra)["context"] = context_object(job.context);
    out.add_header("x-kvasir-context", context_header(job.context));
  }
  if (request.keeper) {
    const base::Status begun = co_await request.keeper->begin(job);
    if (!begun.ok()) {
      co_await out.fail(begun.error());
      co_return;
    }
  }
  AnswerHead head = make_head(request.params, job.lease, out.id());
  head.extra = extra;
  const std::unique_ptr<ResponseShape> shape = request.make_shape(std::move(head));
  ModelMetrics& metrics = service.metrics.of_model(job.lease.name());
  net::Responder& responder = out.exchange().responder;
  const ContextReport context = job.context;
  Result<std::unique_ptr<Generation>> generation =
      Generation::start(std::move(job), std::move(*permit), {responder.executor(), service.clock, metrics});
  if (!generation.ok()) {
    const Error error = as_client_error(std::move(generation).error());
    if (request.keeper) (void)co_await request.keeper->end(AnswerKeeper::Ending::failed, {});
    co_await out.fail(error);
    co_return;
  }
  std::unique_ptr<DeltaStream> answer;
  if (request.tool_chat) {
    ToolRounds::Parts parts{service, responder.executor(), request.tool_chat, context};
    answer = std::make_unique<ToolRounds>(std::move(parts), std::move(*generation));
  } else {
    answer = std::move(*generation);
  }
  responder.on_disconnect([&out, &running = *answer] {
    if (out.resumable())
      out.detach();
    else
      running.cancel();
  });
  Answering answering{
      out, *answer, *shape, request.params, request.keeper.get(), extra, service.options.ping_interval};
  if (request.params.stream)
    co_await respond_streamed(answering);
  else
    co_await respond_whole(answering);
  responder.on_disconnect({});
  (void)co_await keep_end(answering, AnswerKeeper::Ending::left);
  out.exchange().usage = answer->usage();
}

}  // namespace

Result<tenancy::Permit> admit(Service& service, Job& job) {
  const tenancy::Tenant tenant = tenancy::anonymous();
  tenancy::Cost cost{.sequences = static_cast<int>(job.sequences.size())};
  for (wire::GenerateRequest& sequence : job.sequences) {
    sequence.cache_namespace = tenant.name;
    cost.tokens += static_cast<std::int64_t>(sequence.prompt.size()) + sequence.max_tokens;
  }
  return service.admission.enter(tenant, cost);
}

AnswerHead make_head(const GenerateParams& params, const router::Lease& lease, std::string id) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return AnswerHead{.id = std::move(id),
                    .created_s = std::chrono::duration_cast<std::chrono::seconds>(now).count(),
                    .model = lease.name(),
                    .fingerprint = lease.model().fingerprint,
                    .tokenizer = lease.model().tokenizer,
                    .with_logprobs = params.sampling.logprobs,
                    .with_prompt_logprobs = params.show_prompt_logprobs,
                    .service_tier = params.service_tier,
                    .warnings = params.warnings,
                    .include_usage = params.include_usage};
}

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
  for (const std::string& warning : request->params.warnings)
    exchange.headers.emplace_back("x-kvasir-warning", warning);
  Result<Job> job = co_await make_ready(service, out, *request, num_bytes + request->num_other_bytes);
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
