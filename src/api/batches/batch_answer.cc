#include "api/batches/batch_answer.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "api/answer/admit/start.h"
#include "api/answer/answer.h"
#include "api/answer/encode/encode.h"
#include "api/answer/encode/system_prompt.h"
#include "api/answer/model/auto_model.h"
#include "api/answer/model/await_model.h"
#include "api/answer/question/read_question.h"
#include "api/answer/question/receipt.h"
#include "api/answer/run/delta_sink.h"
#include "api/http/caller/caller.h"
#include "api/http/service/request_id.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::ErrorCode;
using base::Result;

namespace {

// Batch lines come after every interactive request of any tier, in the queue and when blocks are short.
constexpr int kBatchPriority = -1000;
constexpr std::string_view kBatchEndpoint = "/v1/batches";  // in the usage records of batch lines

Result<Question> read_line(const Service& service, const store::Batch& batch, const std::string& body) {
  TRY(json::object object, parse_object(body, service.options.max_json_depth));
  if (batch.endpoint == "/v1/chat/completions") return read_chat_question(std::move(object));
  return read_completion_question(std::move(object));
}

base::Status check_alone(const QuestionText& text) {
  if (params_of(text).stream) return in_field("stream", wrong_value("nobody would read the stream"));
  const auto* chat = std::get_if<ChatRequest>(&text);
  if (chat != nullptr && !chat->tools.server_tools.empty())
    return in_field("server_tools", not_supported("calling them here is"));
  return base::ok();
}

Result<Job> make_line_job(Service& service, const tenancy::Caller& caller, QuestionText& text,
                          std::size_t num_bytes) {
  TRY_OK(check_alone(text));
  TRY_OK(choose_model(service, caller, text, num_bytes));
  TRY_OK(ask_for_model(service, caller, params_of(text).model));
  add_system_prompt(caller, text);
  TRY(const router::ChatTextPtr model, service.router.chat_text(params_of(text).model, reach_of(caller)));
  TRY(const GenerateParams params, fit_params(*model, text));
  TRY(Encoded encoded, encode(model, text, params, {}));
  if (std::holds_alternative<TooManyTurns>(encoded))
    return in_field("context_policy", not_supported("making summaries here is"));
  Job job = std::get<Job>(std::move(encoded));
  job.base_priority = kBatchPriority;
  return job;
}

std::string_view id_prefix(const QuestionText& text) {
  return std::holds_alternative<ChatRequest>(text) ? kChatAnswer.id_prefix : kCompletionAnswer.id_prefix;
}

// Keeps a generation in the set while this object lives.
class Running {
 public:
  Running(std::set<Generation*>& set, Generation& generation) : set_(set), generation_(generation) {
    set_.insert(&generation_);
  }
  ~Running() { set_.erase(&generation_); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  std::set<Generation*>& set_;
  Generation& generation_;
};

// One line while it is being answered. It has a constructor for g++ 12; see net::HttpHeader.
struct LineWork {
  LineWork(const store::Batch& batch_in, const store::BatchLine& line_in, std::set<Generation*>& running_in,
           std::shared_ptr<RequestTrace> trace_in)
      : batch(batch_in), line(line_in), running(running_in), trace(std::move(trace_in)) {}

  const store::Batch& batch;
  const store::BatchLine& line;
  std::set<Generation*>& running;
  std::shared_ptr<RequestTrace> trace;
};

asio::awaitable<Result<std::string>> answer_traced(Service& service, asio::any_io_executor executor,
                                                   LineWork one) {
  Result<Question> question = read_line(service, one.batch, one.line.body);
  if (!question.ok()) co_return std::move(question).error();
  tenancy::Caller caller = service.directory.of_tenant(one.batch.tenant);
  set_anonymous_tier(service, caller);
  meter::UsageRecord work;
  work.id = make_id("req");
  work.endpoint = kBatchEndpoint;
  const Asker asker = make_asker(service, std::move(caller), std::move(work), one.trace);
  one.trace->operation = operation_of(question->text);
  obs::SpanScope tokenize(*one.trace->spans, "tokenize");
  Result<Job> job = make_line_job(service, asker.caller, question->text, one.line.body.size());
  if (!job.ok()) co_return std::move(job).error();
  tokenize.end();
  AnswerHead head = make_head(question->params(), *job, make_answer_id(id_prefix(question->text)));
  const std::shared_ptr<json::object> extra = head.extra;
  const std::unique_ptr<AnswerShape> shape = question->make_shape(std::move(head));
  const int num_sampled = job->num_sampled;
  const int num_kept = job->num_kept;
  const bool with_logprobs = job->with_logprobs;
  Result<Place> place = admit(service, asker, *job);
  if (!place.ok()) co_return std::move(place).error();
  place->promise = {};  // no client waits for it
  Result<std::unique_ptr<Generation>> generation =
      start(service, std::move(*place), std::move(*job), executor);
  if (!generation.ok()) co_return std::move(generation).error();
  const Running in_set(one.running, **generation);
  WholeAnswers whole((*generation)->num_choices());
  const base::Status ended = co_await run_into(**generation, whole, service.options.ping_interval);
  if (!ended.ok()) co_return ended.error();
  if (question->params().receipt) (*extra)["kvasir"] = receipt_object((*generation)->usage(), {});
  co_return shape->whole(whole.best_of(num_sampled, num_kept, with_logprobs), (*generation)->usage());
}

}  // namespace

asio::awaitable<Result<std::string>> answer_line(Service& service, asio::any_io_executor executor,
                                                 const store::Batch& batch, const store::BatchLine& line,
                                                 std::set<Generation*>& running) {
  const auto trace = std::make_shared<RequestTrace>(
      service.tracer.begin("batch line", std::nullopt, obs::Tracer::Detail::spans));
  obs::Trace& spans = *trace->spans;
  spans.note(obs::Trace::kRoot, "http.route", batch.endpoint);
  spans.note(obs::Trace::kRoot, "kvasir.batch", batch.id);
  spans.note(obs::Trace::kRoot, "kvasir.batch_line", line.number);
  spans.note(obs::Trace::kRoot, "kvasir.tenant", batch.tenant);
  Result<std::string> answer =
      co_await answer_traced(service, executor, LineWork(batch, line, running, trace));
  if (!answer.ok()) {
    const ErrorCode code = answer.error().code;
    spans.fail(obs::Trace::kRoot, answer.error().reason.empty() ? "failed" : answer.error().reason);
    // A line that finds no room is tried again, so its trace need not be kept.
    if (code != ErrorCode::exhausted && code != ErrorCode::unavailable && code != ErrorCode::cancelled)
      spans.keep();
  }
  co_return answer;
}

}  // namespace kvasir::api
