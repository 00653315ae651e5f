#include "api/anthropic/messages_request.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "api/answer/question/receipt.h"
#include "api/http/json/object_schema.h"

namespace kvasir::api {

using base::Result;
using base::Status;

namespace {

constexpr std::size_t kMaxStops = 64;
constexpr std::size_t kMaxStopBytes = 4096;
constexpr std::int64_t kMaxInt = std::numeric_limits<int>::max();

using R = MessagesRequest;

Status refuse(const json::value&, R&) {
  return not_supported("this field is");
}

Status ignore(const json::value&, R&) {
  return base::ok();
}

Status read_model(const json::value& value, R& r) {
  TRY(r.chat.params.model, read_string(value));
  return base::ok();
}

Status read_max_tokens(const json::value& value, R& r) {
  TRY(const std::int64_t number, read_integer(value, {1, kMaxInt}));
  r.chat.params.max_tokens = static_cast<int>(number);
  return base::ok();
}

Status read_stops(const json::value& value, R& r) {
  if (!value.is_array()) return wrong_type("an array of strings", value);
  const json::array& stops = value.get_array();
  if (stops.size() > kMaxStops)
    return wrong_value(fmt::format("expected at most {} strings, got {}", kMaxStops, stops.size()));
  for (std::size_t i = 0; i < stops.size(); ++i) {
    auto stop = read_string(stops[i]);
    if (stop.ok() && (stop->empty() || stop->size() > kMaxStopBytes))
      stop = wrong_value(fmt::format("expected 1 to {} bytes, got {}", kMaxStopBytes, stop->size()));
    if (!stop.ok()) return in_field(fmt::format("[{}]", i), std::move(stop).error());
    r.stops.push_back(std::move(*stop));
  }
  return base::ok();
}

template <auto kMember>
Status read_share(const json::value& value, R& r) {
  TRY(const double number, read_number(value, {0, 1}));
  r.chat.params.sampling.*kMember = static_cast<float>(number);
  return base::ok();
}

Status read_top_k(const json::value& value, R& r) {
  TRY(const std::int64_t number, read_integer(value, {0, kMaxInt}));
  r.chat.params.sampling.top_k = static_cast<int>(number);
  return base::ok();
}

Status read_seed(const json::value& value, R& r) {
  TRY(const std::int64_t number, read_integer(value, {std::numeric_limits<std::int64_t>::min(),
                                                      std::numeric_limits<std::int64_t>::max()}));
  r.chat.params.seed = static_cast<std::uint64_t>(number);
  return base::ok();
}

Status read_stream(const json::value& value, R& r) {
  TRY(r.chat.params.stream, read_bool(value));
  return base::ok();
}

Status read_user_metadata(const json::value& value, R& r) {
  if (!value.is_object()) return wrong_type("an object", value);
  static constexpr Field<R> kMetadata[] = {{"user_id", [](const json::value& v, R& request) -> Status {
                                              TRY(request.chat.params.user, read_string(v));
                                              return base::ok();
                                            }}};
  warn_of_others<R>(value.get_object(), kMetadata, "metadata.", r.chat.params.warnings);
  return read_fields<R>(value.get_object(), kMetadata, r);
}

Result<std::string> read_type(const json::value& value) {
  if (!value.is_object()) return wrong_type("an object with a \"type\"", value);
  const json::value* type = value.get_object().if_contains("type");
  if (type == nullptr) return in_field("type", missing("a string"));
  auto name = read_string(*type);
  if (!name.ok()) return in_field("type", std::move(name).error());
  return name;
}

// The thinking budget is not enforced: thinking ends when the model ends it.
Status read_thinking(const json::value& value, R& r) {
  TRY(const std::string type, read_type(value));
  if (type != "enabled" && type != "disabled" && type != "adaptive" && type != "between_tools")
    return in_field("type", wrong_value(fmt::format(
                                "expected enabled, adaptive, between_tools or disabled, got \"{}\"", type)));
  static constexpr Field<R> kKnown[] = {
      {"type", nullptr}, {"budget_tokens", nullptr}, {"display", nullptr}, {"block_binding", nullptr}};
  warn_of_others<R>(value.get_object(), kKnown, "thinking.", r.chat.params.warnings);
  const json::value* budget = value.get_object().if_contains("budget_tokens");
  if (budget != nullptr && !budget->is_null()) {
    auto number = read_integer(*budget, {0, kMaxInt});
    if (!number.ok()) return in_field("budget_tokens", std::move(number).error());
  }
  const json::value* display = value.get_object().if_contains("display");
  if (display != nullptr && *display == "omitted")
    r.chat.params.warnings.emplace_back("thinking.display: ignored, thinking is returned whole");
  r.chat.template_kwargs["enable_thinking"] = type != "disabled";
  return base::ok();
}

Status read_format(const json::value& value, R& r) {
  TRY(const std::string type, read_type(value));
  if (type != "json_schema")
    return in_field("type", not_supported(fmt::format("the format \"{}\" is", type)));
  const json::value* schema = value.get_object().if_contains("schema");
  if (schema == nullptr) return in_field("schema", missing("a JSON schema"));
  if (!schema->is_object()) return in_field("schema", wrong_type("a JSON schema", *schema));
  r.chat.params.format = OutputFormat{
      .source = {.kind = grammar::GrammarSource::Kind::json_schema, .text = base::json_text(*schema)},
      .field = "output_config.format.schema"};
  return base::ok();
}

// Reads "output_format", the name that output_config.format had in the beta.
Status read_old_format(const json::value& value, R& r) {
  TRY_OK(read_format(value, r));
  r.chat.params.format->field = "output_format.schema";
  return base::ok();
}

Status read_effort(const json::value& value, R& r) {
  r.chat.effort_field = "output_config.effort";
  return read_reasoning_effort(value, r.chat);
}

Status warn_of_budget(const json::value&, R& r) {
  r.chat.params.warnings.emplace_back("output_config.task_budget: ignored, budgets are not tracked");
  return base::ok();
}

Status read_output_config(const json::value& value, R& r) {
  if (!value.is_object()) return wrong_type("an object", value);
  static constexpr Field<R> kConfig[] = {
      {"format", read_format}, {"effort", read_effort}, {"task_budget", warn_of_budget}};
  warn_of_others<R>(value.get_object(), kConfig, "output_config.", r.chat.params.warnings);
  return read_fields<R>(value.get_object(), kConfig, r);
}

// Whether an edit of the context changes nothing: {"type": "clear_thinking_…", "keep": "all"}.
bool keeps_all(const json::value& edit) {
  const json::object* object = edit.if_object();
  const json::value* type = object == nullptr ? nullptr : object->if_contains("type");
  const json::value* keep = object == nullptr ? nullptr : object->if_contains("keep");
  return type != nullptr && type->is_string() && type->get_string().starts_with("clear_thinking_") &&
         keep != nullptr && *keep == "all";
}

Status read_context_management(const json::value& value, R& r) {
  if (!value.is_object()) return wrong_type("an object", value);
  const json::value* edits = value.get_object().if_contains("edits");
  if (edits == nullptr || edits->is_null()) return base::ok();
  if (!edits->is_array()) return in_field("edits", wrong_type("an array", *edits));
  if (!std::ranges::all_of(edits->get_array(), keeps_all))
    r.chat.params.warnings.emplace_back("context_management: ignored, nothing is cleared from the messages");
  return base::ok();
}

// Refuses threads, which are not kept here. The SDK's tool runner would otherwise send only new messages from
// now on.
Status refuse_thread(const json::value&, R&) {
  return base::Error{base::ErrorCode::unsupported,
                     "threads are not kept here; send the whole conversation without it",
                     {},
                     "thread_unsupported_request"};
}

Status only_empty_list(const json::value& value, R&) {
  if (!value.is_array()) return wrong_type("an array", value);
  return value.get_array().empty() ? base::ok() : Status(not_supported("a server of the request's own is"));
}

Status warn_of_fallbacks(const json::value&, R& r) {
  r.chat.params.warnings.emplace_back("fallbacks: ignored, no answer is refused here");
  return base::ok();
}

Status read_tier(const json::value& value, R&) {
  TRY(const std::string tier, read_string(value));
  if (tier == "auto" || tier == "standard_only") return base::ok();
  return wrong_value(fmt::format("expected auto or standard_only, got \"{}\"", tier));
}

// The fields that determine the prompt.
constexpr Field<R> kPromptFields[] = {
    {"model", read_model, R"({"type": "string"})", "one of the models that GET /v1/models lists"},
    {"messages", nullptr,
     R"({"type": "array", "minItems": 1, "items": {"type": "object", "required": ["role", "content"],
         "properties": {"role": {"enum": ["user", "assistant", "system"]},
                        "content": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "object"}}]}}}})",
     "an array of messages"},
    {"system", nullptr, R"({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "object"}}]})"},
    {"tools", nullptr,
     R"({"type": "array", "items": {"type": "object", "required": ["name"],
         "properties": {"name": {"type": "string"}, "description": {"type": "string"},
                        "input_schema": {"type": "object"}}}})"},
    {"tool_choice", nullptr,
     R"({"type": "object", "required": ["type"],
         "properties": {"type": {"enum": ["auto", "any", "tool", "none"]}, "name": {"type": "string"},
                        "disable_parallel_tool_use": {"type": "boolean"}}})"},
    {"thinking", read_thinking,
     R"({"type": "object", "required": ["type"],
         "properties": {"type": {"enum": ["enabled", "adaptive", "between_tools", "disabled"]}, "budget_tokens": {"type": ["integer", "null"], "minimum": 0}}})"},
    {"output_config", read_output_config,
     R"({"type": "object", "properties": {"format": {"type": "object", "required": ["type", "schema"],
         "properties": {"type": {"const": "json_schema"}, "schema": {"type": "object"}}},
         "effort": {"enum": ["low", "medium", "high", "xhigh", "max", null]}}})"},
    {"cache_control", ignore},
    {"server_tools", nullptr, kServerToolsSchema},
    {"mcp_servers", only_empty_list, R"({"type": "array", "maxItems": 0})"},
    {"context_management", read_context_management,
     R"({"type": "object", "description": "Nothing is cleared; a warning says so."})"},
    {"thread", refuse_thread},
    {"compaction", refuse},
    {"container", refuse},
    {"output_format", read_old_format},
    {"user_profile_id", ignore},
};

constexpr Field<R> kMessagesFields[] = {
    {"max_tokens", read_max_tokens, R"({"type": "integer", "minimum": 1, "maximum": 2147483647})",
     "an integer"},
    {"stop_sequences", read_stops,
     R"({"type": "array", "maxItems": 64, "items": {"type": "string", "minLength": 1, "maxLength": 4096}})"},
    {"temperature", read_share<&wire::SamplingParams::temperature>,
     R"({"type": "number", "minimum": 0, "maximum": 1})"},
    {"top_p", read_share<&wire::SamplingParams::top_p>, R"({"type": "number", "minimum": 0, "maximum": 1})"},
    {"top_k", read_top_k, R"({"type": "integer", "minimum": 0, "maximum": 2147483647})"},
    {"seed", read_seed, R"({"type": "integer"})"},
    {"stream", read_stream, R"({"type": "boolean"})"},
    {"metadata", read_user_metadata, R"({"type": "object", "properties": {"user_id": {"type": "string"}}})"},
    {"service_tier", read_tier, R"({"enum": ["auto", "standard_only"]})"},
    {"kvasir", [](const json::value& v, R& r) -> Status { return read_own_field(v, r.chat.params); },
     kOwnFieldSchema},
    {"fallbacks", warn_of_fallbacks},
    {"fallback_credit_token", ignore},
    {"diagnostics", ignore},
    {"inference_geo", ignore},
    {"speed",
     [](const json::value& v, R& r) -> Status {
       TRY(const std::string speed, read_string(v));
       if (speed != "standard") r.chat.params.warnings.emplace_back("speed: ignored, there is one speed");
       return base::ok();
     }},
};

Status read_prompt(json::object& body, R& request) {
  request.chat.template_kwargs["enable_thinking"] = false;  // thinking is off unless asked for
  TRY_OK(read_fields<R>(body, kPromptFields, request));
  TRY(request.chat.tools, read_anthropic_tools(body));
  request.chat.tools.move_warnings_to(request.chat.params.warnings);
  return read_anthropic_messages(body, request.chat);
}

}  // namespace

Result<MessagesRequest> read_messages_request(json::object body) {
  MessagesRequest request;
  static const ObjectSchema known = ObjectSchema().add<R>(kPromptFields).add<R>(kMessagesFields);
  known.warn_of_others(body, request.chat.params.warnings);
  TRY_OK(read_fields<R>(body, kMessagesFields, request));
  TRY_OK(read_prompt(body, request));
  request.chat.params.stop = request.stops;
  request.chat.params.given = given_sampling(body);
  return request;
}

Result<ChatRequest> read_count_request(json::object body) {
  MessagesRequest request;
  static const ObjectSchema known = ObjectSchema().add<R>(kPromptFields).add<R>(kMessagesFields);
  known.warn_of_others(body, request.chat.params.warnings);
  TRY_OK(read_prompt(body, request));
  return std::move(request.chat);
}

json::object messages_body_schema() {
  return ObjectSchema().add<R>(kPromptFields).add<R>(kMessagesFields).take();
}

json::object count_body_schema() {
  return ObjectSchema().add<R>(kPromptFields).take();
}

}  // namespace kvasir::api
