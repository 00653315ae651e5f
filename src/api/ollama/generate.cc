#include <optional>
#include <string>
#include <utility>

#include "api/answer/answer.h"
#include "api/answer/model/auto_model.h"
#include "api/answer/model/await_model.h"
#include "api/answer/upstream_answer.h"
#include "api/http/caller/caller.h"
#include "api/http/service/route.h"
#include "api/http/work/model_change.h"
#include "api/http/work/read_body.h"
#include "api/ollama/endpoints.h"
#include "api/ollama/ollama_request.h"
#include "api/ollama/ollama_shape.h"
#include "api/ollama/served_name.h"
#include "text/answer/tool_syntax.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Result;
using base::Status;
using Form = OllamaWriting::Form;
using Use = OllamaRequest::Use;
using Hold = std::optional<router::AnyText>;

namespace {

// Makes the checks that need the model.
Status check_with_model(const Service& service, const tenancy::Caller& caller, OllamaRequest& request) {
  GenerateParams& params = request.params();
  if (params.model == kAutoModel && !service.router.has(kAutoModel)) return base::ok();
  const auto ready = service.router.chat_text(params.model, reach_of(caller));
  if (!ready.ok() && upstreams_of(service, caller, params.model)) return base::ok();
  if (!ready.ok()) return ready.error();
  const router::ChatTextPtr& model = *ready;
  if (request.wants_thinking && !text::template_has_reasoning(model->tokenizer->chat_template()))
    return in_field("think",
                    not_supported(fmt::format("\"{}\" does not support thinking; it is", params.model)));
  if (request.num_ctx && *request.num_ctx != model->context_length)
    params.warnings.push_back(
        fmt::format("options.num_ctx: ignored, the model's context is {} tokens", model->context_length));
  return base::ok();
}

// Whether the caller may load and unload models.
bool may_change_models(const Service& service, const Exchange& exchange) {
  return service.residence != nullptr && caller_of(service.directory, exchange.request, Scope::machine).ok();
}

// Whether the model is ready. Does not keep a hold on the model, which could not be unloaded then.
Status is_ready(const Service& service, const Exchange& exchange, const std::string& model) {
  TRY_OK(service.router.any_text(model, reach_of(exchange.caller)));
  return base::ok();
}

bool stays(const Service& service, const std::string& model) {
  return service.residence != nullptr && service.residence->stays(model);
}

// Handles a request without a question. It loads or unloads the model if the caller may do so; otherwise it
// only says whether the model is ready. Models loaded at the start stay, since other clients may use them.
asio::awaitable<Status> bring_model(Service& service, Exchange& exchange, OllamaRequest& request) {
  GenerateParams& params = request.params();
  if (params.model == kAutoModel && !service.router.has(kAutoModel)) co_return base::ok();
  const bool unloads = request.use == Use::unload;
  const Status there = is_ready(service, exchange, params.model);
  const bool is_settled = unloads ? stays(service, params.model) : there.ok();
  if (is_settled || !may_change_models(service, exchange)) co_return there;
  ModelChange change(service, exchange, params.model, unloads ? ModelWish::unloaded : ModelWish::loaded);
  Status done = co_await change.begin();
  if (done.ok()) done = co_await change.follow(nullptr);
  if (done.ok() && unloads) std::erase(params.warnings, kKeepAliveIgnored);
  co_return done;
}

asio::awaitable<void> reply_without_answer(Service& service, Exchange& exchange, OllamaRequest& request,
                                           const OllamaWriting& writing) {
  const std::string& name = request.params().model;
  const Status brought = co_await bring_model(service, exchange, request);
  if (!brought.ok()) co_return co_await reply_error(exchange, brought.error());
  exchange.model = name;
  json::object body{{"model", writing.asked}, {"created_at", ollama_time()}};
  if (writing.form == Form::message)
    body["message"] = json::object{{"role", "assistant"}, {"content", ""}};
  else
    body["response"] = "";
  body["done"] = true;
  body["done_reason"] = request.use == Use::unload ? "unload" : "load";
  if (!request.params().warnings.empty()) body["warnings"] = json::value_from(request.params().warnings);
  for (const std::string& warning : request.params().warnings)
    exchange.headers.emplace_back("x-kvasir-warning", warning);
  co_await reply(exchange, net::HttpResponse::json(200, base::json_text(body)));
}

// Replaces the model's name in the parameters by that of the served model that it means. A model that is not
// loaded is loaded first, if the server loads models on request; the model stays while the hold lives.
asio::awaitable<Result<Hold>> hold_model(Service& service, Exchange& exchange, GenerateParams& params) {
  Result<std::string> name = served_name(service, exchange.caller, params.model);
  if (!name.ok() && !loads_on_request(service)) co_return std::move(name).error();
  std::string meant = name.ok() ? *name : meant_name(service, params.model);
  const bool needs_none = meant == kAutoModel || upstreams_of(service, exchange.caller, meant) != nullptr;
  Result<Hold> held = Hold();
  if (!needs_none) held = co_await await_model(service, exchange, std::move(meant));
  if (!held.ok()) co_return held;
  name = served_name(service, exchange.caller, params.model);
  if (!name.ok()) co_return std::move(name).error();
  params.model = std::move(*name);
  co_return held;
}

asio::awaitable<void> answer_with(Service& service, Exchange& exchange, OllamaWriting writing,
                                  Result<OllamaRequest> request) {
  if (!request.ok()) co_return co_await reply_error(exchange, std::move(request).error());
  GenerateParams& params = request->params();
  writing.asked = params.model;
  if (request->use != Use::answer) {
    Result<std::string> name = served_name(service, exchange.caller, params.model);
    if (!name.ok() && may_change_models(service, exchange)) name = meant_name(service, params.model);
    if (!name.ok()) co_return co_await reply_error(exchange, std::move(name).error());
    params.model = std::move(*name);
    co_return co_await reply_without_answer(service, exchange, *request, writing);
  }
  const Result<Hold> held = co_await hold_model(service, exchange, params);
  if (!held.ok()) co_return co_await reply_error(exchange, held.error());
  Status fits = check_with_model(service, exchange.caller, *request);
  if (!fits.ok()) co_return co_await reply_error(exchange, std::move(fits).error());
  auto make_shape = [writing = std::move(writing)](AnswerHead head) {
    return ollama_shape(std::move(head), writing);
  };
  Question question(request->take_text(), std::move(make_shape));
  co_await answer(service, exchange, kOllamaAnswer, std::move(question));
}

}  // namespace

asio::awaitable<void> handle_ollama_chat(Service& service, Exchange& exchange) {
  OllamaWriting writing{Form::message, {}, service.clock, service.clock.now()};
  Result<OllamaRequest> request = co_await read_body<OllamaRequest>(service, exchange, read_ollama_chat);
  co_await answer_with(service, exchange, std::move(writing), std::move(request));
}

asio::awaitable<void> handle_ollama_generate(Service& service, Exchange& exchange) {
  OllamaWriting writing{Form::response, {}, service.clock, service.clock.now()};
  Result<OllamaRequest> request = co_await read_body<OllamaRequest>(service, exchange, read_ollama_generate);
  co_await answer_with(service, exchange, std::move(writing), std::move(request));
}

}  // namespace kvasir::api
