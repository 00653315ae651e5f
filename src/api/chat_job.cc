#include "api/chat_job.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/prepare.h"
#include "api/respond.h"
#include "api/tools.h"
#include "text/tool_syntax.h"

namespace kvasir::api {

using base::Result;
using Preamble = grammar::GrammarSource::Preamble;
using Reasoning = text::AnswerSyntax::Reasoning;

namespace {

constexpr int kUsualAnswer = 256;  // tokens that truncating leaves room for where nobody says how many

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

bool has_role(const json::value& message, std::string_view role) {
  return message.at("role").as_string() == role;
}

// Where the messages that are kept may begin: behind the first system messages, and at every user's turn.
std::vector<std::size_t> possible_beginnings(const json::array& messages) {
  std::vector<std::size_t> beginnings;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const bool begins = beginnings.empty() ? !has_role(messages[i], "system") : has_role(messages[i], "user");
    if (begins) beginnings.push_back(i);
  }
  return beginnings;
}

bool is_too_long(const Result<EncodedChat>& chat, const router::ServedModel& model,
                 const GenerateParams& params) {
  if (!chat.ok()) return chat.error().reason == "context_length_exceeded";
  const int answer = std::min(params.max_tokens.value_or(kUsualAnswer), model.context_length / 4);
  return chat->tokens.size() + static_cast<std::size_t>(answer) >
         static_cast<std::size_t>(model.context_length);
}

// Leaves out as few of the oldest messages as make the rest fit; where nothing does, all but the last turn.
Result<EncodedChat> encode_truncated(const router::ServedModel& model, const ChatRequest& request,
                                     const std::stop_token& stop) {
  Result<EncodedChat> all = encode_chat(model, request, stop);
  const std::vector<std::size_t> beginnings = possible_beginnings(request.messages);
  if (beginnings.size() < 2 || !is_too_long(all, model, request.params)) return all;
  ChatRequest shorter = request;
  const auto at = [&](std::size_t i) { return request.messages.begin() + static_cast<std::ptrdiff_t>(i); };
  const auto encode_from = [&](std::size_t i) {
    shorter.messages = json::array(at(0), at(beginnings.front()));
    shorter.messages.insert(shorter.messages.end(), at(beginnings[i]), request.messages.end());
    return encode_chat(model, shorter, stop);
  };
  std::size_t low = 1;
  std::size_t high = beginnings.size() - 1;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (is_too_long(encode_from(middle), model, request.params))
      low = middle + 1;
    else
      high = middle;
  }
  return encode_from(low);
}

Result<Job> make_chat_job(router::Lease lease, ChatRequest request, const std::stop_token& stop) {
  const router::ServedModel& model = lease.model();
  auto encoded =
      request.may_truncate ? encode_truncated(model, request, stop) : encode_chat(model, request, stop);
  if (!encoded.ok()) return std::move(encoded).error();
  EncodedChat& chat = *encoded;
  Reasoning reasoning = Reasoning::none;
  if (text::template_has_reasoning(model.tokenizer->chat_template()))
    reasoning = chat.opens_reasoning ? Reasoning::open : Reasoning::tagged;
  std::optional<OutputFormat>& format = request.params.format;
  if (format && reasoning == Reasoning::open) format->source.preamble = Preamble::open_reasoning;
  AnswerReading reading = answer_reading(request.tools, format, model, reasoning);
  TRY(Job job, make_job(std::move(lease), request.params, {std::move(chat.tokens)}, request.messages_field));
  job.reading = std::move(reading);
  return job;
}

}  // namespace

Result<ReadRequest> read_chat(Service& service, ChatRequest request, MakeShape make_shape) {
  TRY(router::Lease picked, service.router.pick(request.params.model));
  TRY_OK(fit_to_model(picked.model(), request));
  const bool compiles = has_to_compile(picked.model(), request.params);
  GenerateParams params = request.params;
  auto shared = std::make_shared<ChatRequest>(std::move(request));
  auto lease = std::make_shared<router::Lease>(std::move(picked));
  auto encode = [shared, lease](const std::stop_token& stop) {
    return make_chat_job(std::move(*lease), std::move(*shared), stop);
  };
  ReadRequest read{std::move(params), std::move(make_shape), std::move(encode)};
  read.compiles = compiles;
  return read;
}

}  // namespace kvasir::api
