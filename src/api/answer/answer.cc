#include "api/answer/answer.h"

#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "api/answer/admit/start.h"
#include "api/answer/encode/prompt.h"
#include "api/answer/encode/system_prompt.h"
#include "api/answer/model/auto_model.h"
#include "api/answer/model/await_model.h"
#include "api/answer/run/delta_sink.h"
#include "api/answer/run/revocable_stream.h"
#include "api/answer/seat/seat.h"
#include "api/answer/server_tools/server_tools.h"
#include "api/answer/server_tools/tool_rounds.h"
#include "api/answer/upstream_answer.h"
#include "api/answer/write/answer_writer.h"
#include "api/answer/write/outlet.h"
#include "api/http/caller/caller.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::ErrorCode;
using base::Result;
using base::Status;
using Ending = AnswerKeeper::Ending;

namespace {

// Adds the tools of this server that a chat names to the chat's own tools.
Status add_server_tools(Service& service, QuestionText& text) {
  auto* chat = std::get_if<ChatRequest>(&text);
  if (chat == nullptr || chat->tools.server_tools.empty()) return base::ok();
  TRY_OK(add_server_tools(service.tools, chat->tools));
  if (chat->params.n != 1)
    return in_field("n", wrong_value("an answer with \"server_tools\" is one; expected 1"));
  return base::ok();
}

bool wants_server_tools(const QuestionText& text) {
  const auto* chat = std::get_if<ChatRequest>(&text);
  return chat != nullptr && !chat->tools.server_tools.empty();
}

void add_warnings(Outlet& out, const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings)
    out.exchange().headers.emplace_back("x-kvasir-warning", warning);
}

// Warns of a reasoning effort that the model's template does not take. Says nothing of a model that is not
// ready, which is an error later.
void warn_of_effort(const Service& service, const tenancy::Caller& caller, QuestionText& text) {
  auto* chat = std::get_if<ChatRequest>(&text);
  if (chat == nullptr || chat->reasoning_effort.empty() || chat->reasoning_effort == "none") return;
  const auto model = service.router.chat_text(chat->params.model, reach_of(caller));
  if (model.ok() && !takes_effort(**model))
    chat->params.warnings.push_back(
        fmt::format("{}: ignored, this model has no levels of effort", chat->effort_field));
}

Status prepare_outlet(Outlet& out, const GenerateParams& params) {
  out.exchange().model = params.model;
  if (params.resumable) TRY_OK(out.make_resumable());
  if (params.background) out.go_on_alone();
  return base::ok();
}

// The generation itself, or the tool rounds that begin with it.
std::unique_ptr<DeltaStream> as_stream(Service& service, Exchange& exchange, const Asker& asker,
                                       std::shared_ptr<const ChatRequest> tool_chat, ContextReport context,
                                       std::unique_ptr<Generation> generation) {
  if (!tool_chat) return generation;
  ToolRounds::Parts parts{service, exchange.responder.executor(), part_of(asker), std::move(tool_chat),
                          std::move(context)};
  return std::make_unique<ToolRounds>(std::move(parts), std::move(generation));
}

// Whether an upstream may have room for a request that failed here with this error.
bool is_full(const base::Error& error) {
  return error.code == ErrorCode::unavailable || error.code == ErrorCode::exhausted;
}

// How the request ended, if that differs from how its last generation ended. A request that was cancelled, or
// whose key was revoked, still pays for what it has used.
std::optional<meter::Finish> other_finish(const DeltaStream& stream, const Status& ended) {
  const bool given_up = !ended.ok() && (ended.error().code == ErrorCode::unauthenticated ||
                                        ended.error().code == ErrorCode::cancelled);
  if (stream.cancelled() || given_up) return meter::Finish::cancelled;
  return ended.ok() ? std::nullopt : std::optional(meter::Finish::failed);
}

}  // namespace

AnswerHead make_head(const GenerateParams& params, const Job& job, std::string id) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const wire::SamplingParams sampling = sampling_of(params, job.text->sampling);
  const auto tidy = [](float number) { return std::round(number * 1e6) / 1e6; };  // 0.7, not 0.699999988
  AnswerHead head{.id = std::move(id),
                  .created_s = std::chrono::duration_cast<std::chrono::seconds>(now).count(),
                  .model = job.text->name,
                  .fingerprint = job.text->fingerprint,
                  .window = job.context.window,
                  .tokenizer = job.text->tokenizer,
                  .with_logprobs = params.sampling.logprobs,
                  .with_prompt_logprobs = params.show_prompt_logprobs,
                  .temperature = tidy(sampling.temperature),
                  .top_p = tidy(sampling.top_p),
                  .service_tier = params.service_tier,
                  .warnings = params.warnings,
                  .include_usage = params.include_usage,
                  .continuous_usage = params.continuous_usage,
                  .extra = std::make_shared<json::object>()};
  head.warnings.insert(head.warnings.end(), job.warnings.begin(), job.warnings.end());
  if (job.context.worth_telling()) (*head.extra)["context"] = context_object(job.context);
  return head;
}

asio::awaitable<void> write_answer(Service& service, Outlet& out, const Asker& asker, DeltaStream& stream,
                                   AnswerWriter& writer) {
  net::Responder& responder = out.exchange().responder;
  responder.on_disconnect([&out, &stream] {
    if (out.resumable())
      out.detach();
    else
      stream.cancel();
  });
  Status ended = co_await writer.open(stream);
  if (ended.ok()) ended = co_await run_into(stream, writer, service.options.ping_interval);
  responder.on_disconnect({});
  out.exchange().usage = stream.usage();
  const Commit commit = asker.meter->close(other_finish(stream, ended), responder.executor());
  co_await writer.close(stream, std::move(ended), commit);
}

asio::awaitable<void> answer(Service& service, Exchange& exchange, const AnswerKind& kind,
                             Question question) {
  Outlet out(service, exchange, kind);
  const Asker asker = asker_of(service, exchange);
  exchange.trace->operation = operation_of(question.text);
  Status begun = choose_model(service, exchange.caller, question.text,
                              exchange.num_body_bytes + question.num_other_bytes);
  if (begun.ok()) begun = prepare_outlet(out, question.params());
  if (begun.ok()) begun = add_server_tools(service, question.text);
  if (!begun.ok()) co_return co_await out.fail(std::move(begun).error());
  // Models of this server come first. Upstreams answer where these are not ready or are full.
  const bool ours = service.router.chat_text(question.params().model, reach_of(exchange.caller)).ok();
  std::shared_ptr<upstream::Pool> upstreams;
  if (!ours || !wants_server_tools(question.text))
    upstreams = upstreams_of(service, exchange.caller, question.params().model);
  if (upstreams && !ours) {
    add_warnings(out, question.params().warnings);
    question.num_other_bytes += add_system_prompt(exchange.caller, question.text);
    auto whole = std::make_shared<const QuestionText>(std::move(question.text));
    co_return co_await answer_by_upstream(service, out, asker, upstreams, question, std::move(whole));
  }
  const auto held = co_await await_model(service, out, question.params().model, question.params().stream);
  if (!held.ok()) co_return co_await out.fail(held.error());
  warn_of_effort(service, exchange.caller, question.text);
  add_warnings(out, question.params().warnings);
  question.num_other_bytes += add_system_prompt(exchange.caller, question.text);

  auto text = std::make_shared<const QuestionText>(std::move(question.text));
  const GenerateParams params = params_of(*text);
  const std::shared_ptr<const QuestionText> kept = upstreams ? text : nullptr;
  Result<Seat> seat = co_await find_seat(service, out, asker, std::move(text),
                                         exchange.num_body_bytes + question.num_other_bytes,
                                         upstreams ? WhenFull::refuse : WhenFull::wait);
  if (!seat.ok() && upstreams && is_full(seat.error()))
    co_return co_await answer_by_upstream(service, out, asker, upstreams, question, kept);
  if (!seat.ok()) co_return co_await out.fail(std::move(seat).error());
  Job& job = seat->job;
  job.context.dropped_messages += question.num_unread_messages;
  if (job.context.worth_telling()) out.add_header("x-kvasir-context", context_header(job.context));
  if (asker.explains_route)
    out.add_header("x-kvasir-route",
                   router::short_form(seat->place.lease.route(), seat->place.lease.member()));
  add_warnings(out, job.warnings);
  AnswerHead head = make_head(params, job, out.id());
  AnswerWriter writer(out, {question.make_shape(head), head.extra, question.keeper, params.stream, job,
                            params.receipt ? std::optional(seat->place.promise) : std::nullopt});
  begun = co_await writer.begin(job);
  if (!begun.ok()) co_return co_await out.fail(std::move(begun).error());

  const ContextReport context = job.context;
  const router::ChatTextPtr model = job.text;  // keeps the model between the rounds of tools
  Result<std::unique_ptr<Generation>> generation =
      start(service, std::move(seat->place), std::move(job), exchange.responder.executor());
  if (!generation.ok()) co_return co_await writer.refuse(std::move(generation).error());
  const std::unique_ptr<DeltaStream> stream =
      as_stream(service, exchange, asker, seat->tool_chat, context, std::move(*generation));
  RevocableStream revocable(*stream, out.key());
  co_await write_answer(service, out, asker, revocable, writer);
}

}  // namespace kvasir::api
