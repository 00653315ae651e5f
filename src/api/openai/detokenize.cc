#include <limits>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "api/answer/model/await_model.h"
#include "api/answer/question/generate_params.h"
#include "api/http/caller/caller.h"
#include "api/http/json/object_schema.h"
#include "api/http/work/text_task.h"
#include "api/openai/endpoints.h"
#include "api/openai/only_model.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Result;
using base::Status;

namespace {

struct DetokenizeRequest {
  std::string model;
  std::vector<TokenId> tokens;
};

constexpr Field<DetokenizeRequest> kDetokenizeFields[] = {
    {"model",
     [](const json::value& v, DetokenizeRequest& r) -> Status {
       TRY(r.model, read_string(v));
       return base::ok();
     },
     kOptionalModelSchema},
    {"tokens",
     [](const json::value& v, DetokenizeRequest& r) -> Status {
       if (!v.is_array()) return wrong_type("an array of token ids", v);
       for (std::size_t i = 0; i < v.get_array().size(); ++i) {
         auto id = read_integer(v.get_array()[i], {0, std::numeric_limits<TokenId>::max()});
         if (!id.ok()) return in_field(fmt::format("[{}]", i), std::move(id).error());
         r.tokens.push_back(static_cast<TokenId>(*id));
       }
       return base::ok();
     },
     R"({"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 2147483647}})",
     "an array of token ids"},
};

Result<json::object> detokenize(Service& service, const tenancy::Caller& caller, std::string_view text) {
  TRY(const json::object body, parse_object(text, service.options.max_json_depth));
  DetokenizeRequest request;
  std::vector<std::string> warnings;
  warn_of_others<DetokenizeRequest>(body, kDetokenizeFields, {}, warnings);
  TRY_OK(read_fields<DetokenizeRequest>(body, kDetokenizeFields, request));
  TRY(const std::string name, named_or_only(service, caller, request.model));
  TRY(const router::AnyText any, service.router.any_text(name, reach_of(caller)));
  const text::Tokenizer& tokenizer = *router::common_text(any).tokenizer;
  for (std::size_t i = 0; i < request.tokens.size(); ++i)
    if (!tokenizer.valid(request.tokens[i]))
      return in_field("tokens",
                      in_field(fmt::format("[{}]", i),
                               wrong_value(fmt::format("token id {} is outside the model's vocabulary of {}",
                                                       request.tokens[i], tokenizer.size()))));
  json::object answer{{"prompt", tokenizer.decode(request.tokens, text::SpecialOutput::keep)}};
  if (!warnings.empty()) answer["warnings"] = json::value_from(warnings);
  return answer;
}

}  // namespace

json::object detokenize_request_schema() {
  return ObjectSchema().add<DetokenizeRequest>(kDetokenizeFields).take();
}

asio::awaitable<void> handle_detokenize(Service& service, Exchange& exchange) {
  const auto body = std::make_shared<const std::string>(std::move(exchange.request.body));
  TextTask<json::object>::Work work = [&service, caller = exchange.caller, body](const std::stop_token&) {
    return detokenize(service, caller, *body);
  };
  const auto held = co_await await_model_of(service, exchange, body);
  if (!held.ok()) co_return co_await reply_error(exchange, held.error());
  Result<json::object> answer =
      co_await run_text_work<json::object>(service.tokenizing, exchange, body->size(), std::move(work));
  if (!answer.ok()) {
    if (answer.error().code != base::ErrorCode::cancelled) co_await reply_error(exchange, answer.error());
    co_return;
  }
  if (const json::value* warnings = answer->if_contains("warnings"))
    for (const json::value& warning : warnings->get_array())
      exchange.headers.emplace_back("x-kvasir-warning", std::string(warning.get_string()));
  co_await reply(exchange, net::HttpResponse::json(200, base::json_text(*answer)));
}

}  // namespace kvasir::api
