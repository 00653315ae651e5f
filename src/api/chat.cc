#include <memory>
#include <stop_token>
#include <utility>

#include "api/chat_request.h"
#include "api/endpoints.h"
#include "api/prepare.h"
#include "api/respond.h"
#include "api/tools.h"
#include "text/tool_syntax.h"

namespace kvasir::api {

using base::Result;
using Preamble = grammar::GrammarSource::Preamble;
using Reasoning = text::AnswerSyntax::Reasoning;

namespace {

// What the model's own way of calling tools and of reasoning makes of the request's format.
base::Status fit_to_model(const router::ServedModel& model, ChatRequest& request) {
  const std::string& source = model.tokenizer->chat_template();
  GenerateParams& params = request.params;
  if (const auto& stops = model.chat_template->stops(); !params.ignore_eos)
    params.stop.insert(params.stop.end(), stops.begin(), stops.end());
  TRY(params.format,
      format_with_tools(request.tools, std::move(params.format), text::tool_syntax_of(source)));
  if (params.format && text::template_has_reasoning(source))
    params.format->source.preamble = Preamble::reasoning;
  return base::ok();
}

Result<Job> make_chat_job(router::Lease lease, ChatRequest request, const std::stop_token& stop) {
  const router::ServedModel& model = lease.model();
  TRY(EncodedChat chat, encode_chat(model, request, stop));
  Reasoning reasoning = Reasoning::none;
  if (text::template_has_reasoning(model.tokenizer->chat_template()))
    reasoning = chat.opens_reasoning ? Reasoning::open : Reasoning::tagged;
  std::optional<OutputFormat>& format = request.params.format;
  if (format && reasoning == Reasoning::open) format->source.preamble = Preamble::open_reasoning;
  AnswerReading reading = answer_reading(request.tools, format, model, reasoning);
  TRY(Job job, make_job(std::move(lease), request.params, {std::move(chat.tokens)}, "messages"));
  job.reading = std::move(reading);
  return job;
}

Result<ReadRequest> read(Service& service, std::string_view body) {
  TRY(json::object object, parse_object(body, service.options.max_json_depth));
  TRY(ChatRequest parsed, read_chat_request(std::move(object)));
  TRY(router::Lease picked, service.router.pick(parsed.params.model));
  TRY_OK(fit_to_model(picked.model(), parsed));
  const bool compiles = has_to_compile(picked.model(), parsed.params);
  GenerateParams params = parsed.params;
  auto request = std::make_shared<ChatRequest>(std::move(parsed));
  auto lease = std::make_shared<router::Lease>(std::move(picked));
  auto encode = [request, lease](const std::stop_token& stop) {
    return make_chat_job(std::move(*lease), std::move(*request), stop);
  };
  ReadRequest read{std::move(params), std::move(encode)};
  read.compiles = compiles;
  return read;
}

}  // namespace

boost::asio::awaitable<void> handle_chat(Service& service, Exchange& exchange) {
  return respond(service, exchange, read, kChatAnswer);
}

}  // namespace kvasir::api
