#include <string>
#include <utility>

#include "api/answer/answer.h"
#include "api/answer/auto_model.h"
#include "api/answer/read_body.h"
#include "api/http/caller.h"
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

namespace {

// Checks what only the model can tell.
Status check_with_model(const Service& service, const tenancy::Caller& caller, OllamaRequest& request) {
  GenerateParams& params = request.params();
  if (params.model == kAutoModel && !service.router.has(kAutoModel)) return base::ok();
  TRY(const router::ChatTextPtr model, service.router.chat_text(params.model, reach_of(caller)));
  if (request.wants_thinking && !text::template_has_reasoning(model->tokenizer->chat_template()))
    return in_field("think",
                    not_supported(fmt::format("\"{}\" does not support thinking; it is", params.model)));
  if (request.num_ctx && *request.num_ctx != model->context_length)
    params.warnings.push_back(
        fmt::format("options.num_ctx: ignored, the model's context is {} tokens", model->context_length));
  return base::ok();
}

// There is nothing to answer: says whether the model is there.
asio::awaitable<void> reply_without_answer(Service& service, Exchange& exchange, const OllamaRequest& request,
                                           const OllamaWriting& writing) {
  const std::string& name = request.params().model;
  Result<router::AnyText> model = service.router.any_text(name, reach_of(exchange.caller));
  const bool is_auto = name == kAutoModel;
  if (!model.ok() && !is_auto) co_return co_await reply_error(exchange, std::move(model).error());
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

asio::awaitable<void> answer_with(Service& service, Exchange& exchange, OllamaWriting writing,
                                  Result<OllamaRequest> request) {
  if (!request.ok()) co_return co_await reply_error(exchange, std::move(request).error());
  GenerateParams& params = request->params();
  writing.asked = params.model;
  Result<std::string> name = served_name(service, exchange.caller, params.model);
  if (!name.ok()) co_return co_await reply_error(exchange, std::move(name).error());
  params.model = std::move(*name);
  if (request->use != Use::answer)
    co_return co_await reply_without_answer(service, exchange, *request, writing);
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
