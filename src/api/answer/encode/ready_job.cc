#include "api/answer/encode/ready_job.h"

#include <optional>
#include <stop_token>
#include <utility>

#include "api/answer/encode/encode.h"
#include "api/answer/encode/fit_context.h"
#include "api/answer/encode/prompt.h"
#include "api/answer/encode/summarize.h"
#include "api/http/caller/caller.h"
#include "api/http/work/text_task.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Result;

namespace {

using TextPtr = std::shared_ptr<const QuestionText>;

// Waits for the task. If that takes long, a stream gets its headers and pings meanwhile.
asio::awaitable<Result<Encoded>> wait_for(const ServiceOptions& options, Outlet& out, bool stream,
                                          TextTask<Encoded>& task) {
  bool done = co_await task.wait(options.headers_after);
  if (!done && stream) {
    base::Status written = co_await out.start();
    while (written.ok()) {
      done = co_await task.wait(options.ping_interval);
      if (done) break;
      written = co_await out.ping();
    }
    if (!written.ok()) co_return std::move(written).error();
  }
  while (!done) done = co_await task.wait(options.ping_interval);
  co_return task.take();
}

asio::awaitable<Result<Encoded>> encode_meanwhile(Service& service, Outlet& out, router::ChatTextPtr model,
                                                  TextPtr text, std::size_t num_bytes) {
  TextTask<GenerateParams>::Work fit = [model, text](const std::stop_token&) {
    return fit_params(*model, *text);
  };
  Result<GenerateParams> params = co_await run_text_work<GenerateParams>(
      service.reading, out.exchange(), num_bytes, std::move(fit), out.when_left());
  if (!params.ok()) co_return std::move(params).error();
  const bool compiles = has_to_compile(*model, *params);
  if (num_bytes <= kSmallBody && !compiles) co_return encode(model, *text, *params, {});
  const bool stream = params->stream;
  TextTask<Encoded>::Work work = [model, text, params = std::move(*params)](const std::stop_token& stop) {
    return encode(model, *text, params, stop);
  };
  net::Responder& responder = out.exchange().responder;
  TextTask<Encoded> task(compiles ? service.compiling : service.tokenizing,
                         turn_of(out.exchange().caller, num_bytes), responder.executor(), std::move(work));
  std::optional<GivenUpOnDisconnect<Encoded>> watch;
  if (!out.resumable()) watch.emplace(responder, task);
  co_return co_await wait_for(service.options, out, stream, task);
}

// Encodes the chat after a summary has replaced its oldest turns.
asio::awaitable<Result<Job>> make_ready_summarized(Service& service, Outlet& out, router::ChatTextPtr model,
                                                   TextPtr text, std::size_t num_turns) {
  const auto& chat = std::get<ChatRequest>(*text);
  auto plan = std::make_shared<const SummaryPlan>(plan_summary(model, chat, num_turns));
  Result<std::string> summary = co_await summarize(service, out, chat.params.stream, plan);
  if (!summary.ok()) co_return std::move(summary).error();
  ChatRequest shorter = chat;
  shorter.messages = without_turns(chat.messages, num_turns, *summary);
  shorter.context_policy = ContextPolicy::error;  // nothing more may be left out
  auto shorter_text = std::make_shared<const QuestionText>(std::move(shorter));
  Result<Encoded> encoded =
      co_await encode_meanwhile(service, out, model, std::move(shorter_text), kSmallBody + 1);
  if (!encoded.ok()) co_return std::move(encoded).error();
  Job job = std::get<Job>(std::move(*encoded));
  job.context.policy = chat.context_policy;
  job.context.summarized_messages = static_cast<int>(plan->messages.size());
  job.context.summarized_turns = static_cast<int>(num_turns);
  job.context.summary = std::move(*summary);
  co_return job;
}

}  // namespace

asio::awaitable<Result<Job>> make_ready(Service& service, Outlet& out, TextPtr text, std::size_t num_bytes) {
  Result<router::ChatTextPtr> model =
      service.router.chat_text(params_of(*text).model, reach_of(out.exchange().caller));
  if (!model.ok()) co_return std::move(model).error();
  out.add_header("x-kvasir-model", (*model)->name);
  Result<Encoded> encoded = co_await encode_meanwhile(service, out, *model, text, num_bytes);
  if (!encoded.ok()) co_return std::move(encoded).error();
  if (auto* job = std::get_if<Job>(&*encoded)) co_return std::move(*job);
  const std::size_t num_turns = std::get<TooManyTurns>(*encoded).num_turns;
  co_return co_await make_ready_summarized(service, out, *model, text, num_turns);
}

}  // namespace kvasir::api
