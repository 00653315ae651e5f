#include <string_view>
#include <utility>

#include "api/http/json/fields.h"
#include "api/http/json/object_schema.h"
#include "api/http/service/request_id.h"
#include "api/openai/endpoints.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Status;

namespace {

constexpr std::string_view kCategories[] = {"harassment",
                                            "harassment/threatening",
                                            "hate",
                                            "hate/threatening",
                                            "illicit",
                                            "illicit/violent",
                                            "self-harm",
                                            "self-harm/intent",
                                            "self-harm/instructions",
                                            "sexual",
                                            "sexual/minors",
                                            "violence",
                                            "violence/graphic"};
constexpr std::size_t kMaxInputs = 2048;
constexpr const char* kWarning = "no classifier is set up: nothing was looked at, and nothing is flagged";

struct ModerationRequest {
  std::size_t num_results = 0;
};

// Accepts a string, an array of strings, or the parts of one message.
Status read_input(const json::value& value, ModerationRequest& request) {
  request.num_results = 1;
  if (value.is_string()) return base::ok();
  constexpr const char* kShapes = "a string, an array of strings, or an array of parts with a \"type\"";
  if (!value.is_array()) return wrong_type(kShapes, value);
  const json::array& items = value.get_array();
  if (items.empty() || items.size() > kMaxInputs)
    return wrong_value(fmt::format("expected 1 to {} items, got {}", kMaxInputs, items.size()));
  const bool parts = items.front().is_object();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const json::object* part = items[i].if_object();
    const bool fits = parts ? part != nullptr && part->contains("type") && part->at("type").is_string()
                            : items[i].is_string();
    if (!fits) return in_field(fmt::format("[{}]", i), wrong_type(kShapes, items[i]));
  }
  if (!parts) request.num_results = items.size();
  return base::ok();
}

constexpr Field<ModerationRequest> kModerationsFields[] = {
    {"input", read_input,
     R"({"anyOf": [{"type": "string"},
          {"type": "array", "minItems": 1, "maxItems": 2048, "items": {"type": "string"}},
          {"type": "array", "minItems": 1, "maxItems": 2048, "items": {"type": "object", "required": ["type"],
            "properties": {"type": {"type": "string"}}}}],
         "description": "Text, several texts, or the parts of one message."})",
     "a string or an array"},
    {"model",
     [](const json::value& v, ModerationRequest&) -> Status {
       TRY_OK(read_string(v));
       return base::ok();
     },
     R"({"type": "string", "description": "It has no effect: there is no classifier to choose."})"},
};

json::object result() {
  json::object flags;
  json::object scores;
  json::object inputs;
  for (const std::string_view category : kCategories) {
    flags[category] = false;
    scores[category] = 0.0;
    inputs[category] = json::array();  // no kind of input was classified
  }
  return {{"flagged", false},
          {"categories", std::move(flags)},
          {"category_scores", std::move(scores)},
          {"category_applied_input_types", std::move(inputs)}};
}

}  // namespace

json::object moderation_request_schema() {
  return ObjectSchema().add<ModerationRequest>(kModerationsFields).take();
}

// Answers in OpenAI's shape, for clients that always call this endpoint. It says that nothing is classified.
asio::awaitable<void> handle_moderations(Service& service, Exchange& exchange) {
  ModerationRequest request;
  base::Result<json::object> body = parse_object(exchange.request.body, service.options.max_json_depth);
  const Status status =
      body.ok() ? read_fields<ModerationRequest>(*body, kModerationsFields, request) : Status(body.error());
  if (!status.ok()) {
    co_await reply_error(exchange, status.error());
    co_return;
  }
  exchange.headers.emplace_back("x-kvasir-warning", kWarning);
  json::array results;
  for (std::size_t i = 0; i < request.num_results; ++i) results.push_back(result());
  const json::object answer{{"id", make_id("modr")},
                            {"model", "none"},
                            {"results", std::move(results)},
                            {"warnings", json::array{kWarning}}};
  co_await reply(exchange, net::HttpResponse::json(200, base::json_text(answer)));
}

}  // namespace kvasir::api
