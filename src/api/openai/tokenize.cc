#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <utility>

#include "api/answer/encode/prompt.h"
#include "api/answer/model/await_model.h"
#include "api/answer/question/chat_request.h"
#include "api/answer/question/completion_request.h"
#include "api/answer/shape/answer_shape.h"
#include "api/http/caller/caller.h"
#include "api/http/work/text_task.h"
#include "api/openai/endpoints.h"
#include "api/openai/only_model.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Result;
using base::Status;

namespace {

struct TokenizeOptions {
  std::string model;
  bool return_token_strs = false;
  bool add_special_tokens = true;
  ChatRequest chat;
};

constexpr Field<TokenizeOptions> kTokenizeFields[] = {
    {"model",
     [](const json::value& v, TokenizeOptions& o) -> Status {
       TRY(o.model, read_string(v));
       return base::ok();
     },
     kOptionalModelSchema},
    {"prompt", nullptr, R"({"type": "string", "description": "This, or messages."})"},
    {"messages", nullptr, kMessagesSchema},
    {"return_token_strs",
     [](const json::value& v, TokenizeOptions& o) -> Status {
       TRY(o.return_token_strs, read_bool(v));
       return base::ok();
     },
     R"({"type": "boolean", "default": false, "description": "Each token's text too."})"},
    {"add_special_tokens",
     [](const json::value& v, TokenizeOptions& o) -> Status {
       TRY(o.add_special_tokens, read_bool(v));
       return base::ok();
     },
     R"({"type": "boolean", "default": true,
         "description": "The tokens that the model wants around a prompt; a conversation has those of its template."})"},
    {"add_generation_prompt",
     [](const json::value& v, TokenizeOptions& o) -> Status {
       TRY(o.chat.add_generation_prompt, read_bool(v));
       return base::ok();
     },
     R"({"type": "boolean", "default": true})"},
};

ObjectSchema all_fields() {
  ObjectSchema fields;
  describe_tools(fields);
  return fields.add<TokenizeOptions>(kTokenizeFields);
}

// Finds a field's value. Null is treated as absent.
json::value* find(json::object& body, std::string_view field) {
  json::value* value = body.if_contains(field);
  return value == nullptr || value->is_null() ? nullptr : value;
}

Result<std::vector<TokenId>> encode(const router::AnyText& any, json::object& body, TokenizeOptions& options,
                                    const std::stop_token& stop) {
  const auto* generating = std::get_if<router::ChatTextPtr>(&any);
  ChatRequest& chat = options.chat;
  TRY(chat.tools, read_tools(body));
  json::value* messages = find(body, "messages");
  json::value* prompt = find(body, "prompt");
  if (messages != nullptr && prompt != nullptr)
    return in_field("prompt", wrong_value("only one of \"prompt\" and \"messages\" may be given"));
  if (messages != nullptr) {
    if (generating == nullptr)
      return in_field("messages", not_supported("a conversation with a model that makes embeddings is"));
    TRY(chat.messages, read_messages(*messages));
    TRY(EncodedChat encoded, encode_chat(**generating, chat, stop));
    return std::move(encoded.tokens);
  }
  if (prompt == nullptr) return in_field("prompt", missing("a string, or \"messages\" instead"));
  auto text = read_string(*prompt);
  if (!text.ok()) return in_field("prompt", std::move(text).error());
  const router::ModelText& model = router::common_text(any);
  if (!options.add_special_tokens) {
    TRY_OK(check_could_fit(model, text->size(), "prompt"));
    std::vector<TokenId> tokens = model.tokenizer->encode(*text, text::Specials::parse, stop);
    TRY_OK(check_not_stopped(stop));
    return tokens;
  }
  const TextOrTokens input(std::move(*text));
  return generating != nullptr ? encode_prompt(model, input, stop) : encode_text(model, input, {}, stop);
}

struct TokenizeAnswer {
  TokenizeAnswer(std::string model_in, std::string body_in)
      : model(std::move(model_in)), body(std::move(body_in)) {}

  std::string model;
  std::string body;
  std::vector<std::string> warnings;
};

Result<TokenizeAnswer> tokenize(Service& service, const tenancy::Caller& caller, std::string_view text,
                                const std::stop_token& stop) {
  TRY(json::object body, parse_object(text, service.options.max_json_depth));
  TokenizeOptions options;
  std::vector<std::string> warnings;
  static const ObjectSchema known = all_fields();
  known.warn_of_others(body, warnings);
  TRY_OK(read_fields<TokenizeOptions>(body, kTokenizeFields, options));
  TRY(const std::string name, named_or_only(service, caller, options.model));
  TRY(const router::AnyText any, service.router.any_text(name, reach_of(caller)));
  const router::ModelText& model = router::common_text(any);
  TRY(const std::vector<TokenId> tokens, encode(any, body, options, stop));
  json::object answer;
  answer["count"] = tokens.size();
  answer["max_model_len"] = model.context_length;
  answer["tokens"] = json::array(tokens.begin(), tokens.end());
  if (!warnings.empty()) answer["warnings"] = json::value_from(warnings);
  if (options.return_token_strs) {
    json::array strings;
    for (const TokenId id : tokens) strings.emplace_back(token_text(*model.tokenizer, id));
    answer["token_strs"] = std::move(strings);
  }
  TokenizeAnswer made(model.name, base::json_text(answer));
  made.warnings = std::move(warnings);
  return made;
}

}  // namespace

json::object tokenize_request_schema() {
  return all_fields().take();
}

asio::awaitable<void> handle_tokenize(Service& service, Exchange& exchange) {
  const auto body = std::make_shared<const std::string>(std::move(exchange.request.body));
  TextTask<TokenizeAnswer>::Work work = [&service, caller = exchange.caller,
                                         body](const std::stop_token& stop) {
    return tokenize(service, caller, *body, stop);
  };
  const auto held = co_await await_model_of(service, exchange, body);
  if (!held.ok()) co_return co_await reply_error(exchange, held.error());
  Result<TokenizeAnswer> answer =
      co_await run_text_work<TokenizeAnswer>(service.tokenizing, exchange, body->size(), std::move(work));
  if (!answer.ok()) {
    if (answer.error().code == base::ErrorCode::cancelled) co_return;
    co_await reply_error(exchange, answer.error());
    co_return;
  }
  exchange.model = std::move(answer->model);
  for (const std::string& warning : answer->warnings)
    exchange.headers.emplace_back("x-kvasir-warning", warning);
  co_await reply(exchange, net::HttpResponse::json(200, std::move(answer->body)));
}

}  // namespace kvasir::api
