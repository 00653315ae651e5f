#include "api/responses/responses_request.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "api/answer/question/receipt.h"
#include "api/http/json/metadata.h"
#include "api/http/json/object_schema.h"
#include "api/items/chat_items.h"
#include "api/responses/responses_tools.h"

namespace kvasir::api {

using base::Result;
using base::Status;

namespace {

using R = ResponsesRequest;

constexpr std::int64_t kMaxInt = std::numeric_limits<int>::max();
constexpr std::int64_t kMaxTopLogprobs = 20;

Status refuse(const json::value&, R&) {
  return not_supported("this field is");
}

Status ignore(const json::value&, R&) {
  return base::ok();
}

// Reads a field that only tunes what OpenAI's servers do: it gives a warning.
template <const char* kWarning>
Status warn(const json::value&, R& r) {
  r.chat.params.warnings.emplace_back(kWarning);
  return base::ok();
}
constexpr char kAccessWarning[] = "access_programs: ignored, there are none here";
constexpr char kImageWarning[] = "image: ignored, models here read text only";
constexpr char kContextWarning[] = "context_management: ignored, nothing is compacted";
constexpr char kPersonalityWarning[] = "personality: ignored, models here have no presets";
constexpr char kModeWarning[] = "reasoning.mode: ignored, there is one mode";
constexpr char kReasoningWarning[] = "reasoning.context: ignored, the model's template decides";

// Warns unless the value is `kHarmless`, which changes nothing.
template <const char* kWarning, const char* kHarmless>
Status warn_unless(const json::value& value, R& r) {
  TRY(const std::string word, read_string(value));
  return word == kHarmless ? base::ok() : warn<kWarning>(value, r);
}
constexpr char kStandard[] = "standard";
constexpr char kAuto[] = "auto";

template <std::string R::* kMember>
Status read_text(const json::value& value, R& r) {
  TRY(r.*kMember, read_string(value));
  return base::ok();
}

Status read_model(const json::value& value, R& r) {
  TRY(r.chat.params.model, read_string(value));
  return base::ok();
}

Status read_max_output(const json::value& value, R& r) {
  return read_max_tokens(value, r.chat.params);
}

template <auto kMember>
Status read_penalty(const json::value& value, R& r) {
  TRY(const double number, read_number(value, {-2, 2}));
  r.chat.params.sampling.*kMember = static_cast<float>(number);
  return base::ok();
}

Status read_temperature(const json::value& value, R& r) {
  TRY(const double number, read_number(value, {0, 2}));
  r.chat.params.sampling.temperature = static_cast<float>(number);
  return base::ok();
}

Status read_top_p(const json::value& value, R& r) {
  TRY(const double number, read_number(value, {0, 1}));
  r.chat.params.sampling.top_p = static_cast<float>(number);
  return base::ok();
}

Status read_seed(const json::value& value, R& r) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  TRY(const std::int64_t number, read_integer(value, {-kMax - 1, kMax}));
  r.chat.params.seed = static_cast<std::uint64_t>(number);
  return base::ok();
}

Status read_top_logprobs(const json::value& value, R& r) {
  TRY(const std::int64_t number, read_integer(value, {0, kMaxTopLogprobs}));
  r.chat.params.sampling.num_top_logprobs = static_cast<int>(number);
  return base::ok();
}

// Reads what to include. Values for tools that this server does not have are ignored.
Status read_include(const json::value& value, R& r) {
  if (!value.is_array()) return wrong_type("an array of strings", value);
  for (const json::value& item : value.get_array()) {
    TRY(const std::string name, read_string(item));
    if (name == "message.output_text.logprobs")
      r.chat.params.sampling.logprobs = true;
    else if (!name.starts_with("reasoning.") && name.find("_call") == std::string::npos)
      return not_supported(fmt::format("including \"{}\" is", name));
  }
  return base::ok();
}

Status read_stream(const json::value& value, R& r) {
  TRY(r.chat.params.stream, read_bool(value));
  return base::ok();
}

// Reads a flag that changes nothing: this server obfuscates nothing and enforces every schema.
Status read_unused_flag(const json::value& value, R&) {
  TRY_OK(read_bool(value));
  return base::ok();
}

Status read_unused_text(const json::value& value, R&) {
  TRY_OK(read_string(value));
  return base::ok();
}

Status read_stream_options(const json::value& value, R& r) {
  if (!value.is_object()) return wrong_type("an object", value);
  static constexpr Field<R> kOptions[] = {{"include_obfuscation", read_unused_flag},
                                          {"resumable", [](const json::value& v, R& request) -> Status {
                                             TRY(request.chat.params.resumable, read_bool(v));
                                             return base::ok();
                                           }}};
  warn_of_others<R>(value.get_object(), kOptions, "stream_options.", r.chat.params.warnings);
  return read_fields<R>(value.get_object(), kOptions, r);
}

Status read_store(const json::value& value, R& r) {
  TRY(r.store, read_bool(value));
  r.chat.params.is_private = !r.store;
  return base::ok();
}

// Reads the conversation's id, or an object that has it.
Status read_conversation(const json::value& value, R& r) {
  const json::value* id = value.is_object() ? value.get_object().if_contains("id") : &value;
  if (id == nullptr) return in_field("id", missing("the id of a conversation"));
  if (!id->is_string() || id->get_string().empty())
    return wrong_type("the id of a conversation, or an object with it", *id);
  r.conversation_id = std::string(id->get_string());
  return base::ok();
}

Status read_background(const json::value& value, R& r) {
  TRY(r.chat.params.background, read_bool(value));
  return base::ok();
}

Status read_truncation(const json::value& value, R& r) {
  TRY(const std::string word, read_string(value));
  if (word != "auto" && word != "disabled")
    return wrong_value(fmt::format("expected auto or disabled, got \"{}\"", word));
  if (word == "auto") r.chat.context_policy = ContextPolicy::sliding_window;
  return base::ok();
}

Status read_effort(const json::value& value, R& r) {
  r.chat.effort_field = "reasoning.effort";
  return read_reasoning_effort(value, r.chat);
}

Status read_reasoning(const json::value& value, R& r) {
  if (!value.is_object()) return wrong_type("an object", value);
  static constexpr Field<R> kReasoning[] = {{"effort", read_effort},
                                            {"summary", ignore},
                                            {"generate_summary", ignore},
                                            {"mode", warn_unless<kModeWarning, kStandard>},
                                            {"context", warn_unless<kReasoningWarning, kAuto>}};
  warn_of_others<R>(value.get_object(), kReasoning, "reasoning.", r.chat.params.warnings);
  return read_fields<R>(value.get_object(), kReasoning, r);
}

Status read_format(const json::value& value, R& r) {
  using Kind = grammar::GrammarSource::Kind;
  if (!value.is_object()) return wrong_type("an object", value);
  const json::object& format = value.get_object();
  static constexpr Field<R> kDescription[] = {{"name", read_unused_text},
                                              {"description", read_unused_text},
                                              {"strict", read_unused_flag},
                                              {"type", nullptr},
                                              {"schema", nullptr}};
  warn_of_others<R>(format, kDescription, "text.format.", r.chat.params.warnings);
  TRY_OK(read_fields<R>(format, kDescription, r));
  const json::value* type = format.if_contains("type");
  if (type == nullptr || !type->is_string())
    return in_field("type", missing("\"text\", \"json_object\" or \"json_schema\""));
  const std::string_view name = type->get_string();
  if (name == "text") return base::ok();
  if (name == "json_object") {
    r.chat.params.format = OutputFormat{.source = {.kind = Kind::json_object}, .field = "text.format"};
    return base::ok();
  }
  if (name != "json_schema")
    return in_field("type", not_supported(fmt::format("the format \"{}\" is", name)));
  const json::value* schema = format.if_contains("schema");
  if (schema == nullptr) return in_field("schema", missing("a JSON schema"));
  if (!schema->is_object()) return in_field("schema", wrong_type("a JSON schema", *schema));
  r.chat.params.format = OutputFormat{.source = {.kind = Kind::json_schema, .text = base::json_text(*schema)},
                                      .field = "text.format.schema"};
  return base::ok();
}

Status read_text_settings(const json::value& value, R& r) {
  if (!value.is_object()) return wrong_type("an object", value);
  static constexpr Field<R> kText[] = {
      {"format", read_format},
      {"verbosity", [](const json::value& v, R& request) { return read_verbosity(v, request.chat.params); }},
  };
  warn_of_others<R>(value.get_object(), kText, "text.", r.chat.params.warnings);
  return read_fields<R>(value.get_object(), kText, r);
}

constexpr Field<R> kResponsesFields[] = {
    {"model", read_model, R"({"type": "string"})", "one of the models that GET /v1/models lists"},
    {"input", nullptr,
     R"({"anyOf": [{"type": "string"}, {"type": "array", "minItems": 1, "items": {"type": "object"}}]})",
     "a string or an array of items"},
    {"instructions", read_text<&R::instructions>, R"({"type": "string"})"},
    {"previous_response_id", read_text<&R::previous_id>, R"({"type": "string"})"},
    {"store", read_store, R"({"type": "boolean", "default": true})"},
    {"stream", read_stream, R"({"type": "boolean"})"},
    {"stream_options", read_stream_options,
     R"({"type": "object", "properties": {"include_obfuscation": {"type": "boolean"},
         "resumable": {"type": "boolean", "description": "Go on when the client leaves."}}})"},
    {"max_output_tokens", read_max_output,
     R"({"type": "integer", "anyOf": [{"const": -1}, {"minimum": 1, "maximum": 2147483647}]})"},
    {"temperature", read_temperature, R"({"type": "number", "minimum": 0, "maximum": 2})"},
    {"top_p", read_top_p, R"({"type": "number", "minimum": 0, "maximum": 1})"},
    {"presence_penalty", read_penalty<&wire::SamplingParams::presence_penalty>,
     R"({"type": "number", "minimum": -2, "maximum": 2})"},
    {"frequency_penalty", read_penalty<&wire::SamplingParams::frequency_penalty>,
     R"({"type": "number", "minimum": -2, "maximum": 2})"},
    {"seed", read_seed, R"({"type": "integer"})"},
    {"top_logprobs", read_top_logprobs, R"({"type": "integer", "minimum": 0, "maximum": 20})"},
    {"include", read_include, R"({"type": "array", "items": {"type": "string"}})"},
    {"metadata",
     [](const json::value& v, R&) -> Status {
       TRY_OK(read_metadata(v));
       return base::ok();
     },
     kMetadataSchema},
    {"truncation", read_truncation, R"({"enum": ["auto", "disabled"]})"},
    {"text", read_text_settings,
     R"({"type": "object", "properties": {"format": {"type": "object", "required": ["type"],
         "properties": {"type": {"enum": ["text", "json_object", "json_schema"]}, "name": {"type": "string"},
                        "schema": {"type": "object"}, "strict": {"type": ["boolean", "null"]}}}}})"},
    {"reasoning", read_reasoning,
     R"({"type": "object", "properties": {"effort": {"type": ["string", "null"]}}})"},
    {"tools", nullptr,
     R"({"type": "array", "items": {"type": "object", "required": ["type"],
         "properties": {"type": {"type": "string",
                          "description": "function, custom, namespace; other kinds are left out with a warning."},
                        "name": {"type": "string"},
                        "description": {"type": ["string", "null"]}, "parameters": {"type": ["object", "null"]},
                        "strict": {"type": ["boolean", "null"]}}}})"},
    {"tool_choice", nullptr, R"({"anyOf": [{"enum": ["none", "auto", "required"]}, {"type": "object"}]})"},
    {"server_tools", nullptr, kServerToolsSchema},
    {"parallel_tool_calls", nullptr, R"({"type": "boolean"})"},
    {"user",
     [](const json::value& v, R& r) -> Status {
       TRY(r.chat.params.user, read_string(v));
       return base::ok();
     },
     R"({"type": "string"})"},
    {"service_tier", [](const json::value& v, R& r) -> Status { return read_service_tier(v, r.chat.params); },
     kServiceTierSchema},
    {"kvasir", [](const json::value& v, R& r) -> Status { return read_own_field(v, r.chat.params); },
     kOwnFieldSchema},
    {"background", read_background, R"({"type": "boolean", "default": false})"},
    {"safety_identifier", read_unused_text, R"({"type": "string"})"},
    {"prompt_cache_key",
     [](const json::value& v, R& r) -> Status { return read_cache_key(v, r.chat.params); },
     R"({"type": "string"})"},
    {"prompt_cache_retention", ignore},
    {"max_tool_calls", ignore},
    {"conversation", read_conversation,
     R"({"anyOf": [{"type": "string"}, {"type": "object", "required": ["id"],
         "properties": {"id": {"type": "string"}}}, {"type": "null"}],
         "description": "A conversation that the items go on from, and are added to."})"},
    {"prompt", refuse},
    {"context_management", warn<kContextWarning>},
    {"prompt_cache_options", ignore},
    {"access_programs", warn<kAccessWarning>},
    {"image", warn<kImageWarning>},
    {"personality", warn<kPersonalityWarning>},
    {"moderation", refuse},
};

Status read_input(json::value& input, R& r) {
  if (input.is_string()) {
    json::object text{{"type", "input_text"}, {"text", std::move(input)}};
    r.items.push_back(
        json::object{{"type", "message"}, {"role", "user"}, {"content", json::array{std::move(text)}}});
  } else {
    if (!input.is_array()) return wrong_type("a string or an array of items", input);
    r.items = std::move(input.get_array());
    if (r.items.empty()) return wrong_value("expected at least one item");
  }
  return read_items(r.items, r.conversation_id.empty() ? ItemIds::keep : ItemIds::make);
}

// Returns the settings that a response repeats, with defaults for those that the request does not set.
json::object make_echo(const json::object& body) {
  json::object echo{{"background", false},
                    {"completed_at", nullptr},
                    {"conversation", nullptr},
                    {"frequency_penalty", 0.0},
                    {"instructions", nullptr},
                    {"max_output_tokens", nullptr},
                    {"max_tool_calls", nullptr},
                    {"metadata", json::object()},
                    {"parallel_tool_calls", true},
                    {"presence_penalty", 0.0},
                    {"previous_response_id", nullptr},
                    {"prompt_cache_key", nullptr},
                    {"reasoning", json::object{{"effort", nullptr}, {"summary", nullptr}}},
                    {"safety_identifier", nullptr},
                    {"store", true},
                    {"text", json::object{{"format", json::object{{"type", "text"}}}}},
                    {"tool_choice", "auto"},
                    {"tools", json::array()},
                    {"top_logprobs", 0},
                    {"truncation", "disabled"},
                    {"user", nullptr}};
  for (auto& [key, value] : echo)
    if (const json::value* given = body.if_contains(key); given != nullptr && !given->is_null())
      value = *given;
  echo["completed_at"] = nullptr;
  if (json::value& conversation = echo["conversation"]; conversation.is_string())
    conversation = json::object{{"id", conversation}};
  for (const char* key : {"temperature", "top_p"})  // if absent, the answer has the value used
    if (const json::value* given = body.if_contains(key); given != nullptr && !given->is_null())
      echo[key] = *given;
  if (const json::value* names = body.if_contains("server_tools")) echo["server_tools"] = *names;
  if (json::value& tools = echo["tools"]; tools.is_array())
    for (json::value& tool : tools.get_array())
      if (tool.is_object() && tool.get_object().contains("name"))
        tool.get_object().emplace("strict", nullptr);
  return echo;
}

}  // namespace

Result<ResponsesRequest> read_responses_request(json::object body) {
  ResponsesRequest request;
  request.chat.messages_field = "input";
  TRY_OK(read_fields<R>(body, kResponsesFields, request));
  const json::value* options = body.if_contains("stream_options");
  if (!request.chat.params.stream && options != nullptr && !options->is_null())
    return in_field("stream_options", wrong_value("only allowed together with \"stream\": true"));
  if (!request.conversation_id.empty() && !request.previous_id.empty())
    return in_field("conversation", wrong_value("only allowed without \"previous_response_id\""));
  if (request.background() && !request.store)
    return in_field("background", wrong_value("only allowed together with \"store\": true"));
  if (request.background() && request.chat.params.stream) request.chat.params.resumable = true;
  request.chat.params.given = given_sampling(body);
  if (request.chat.params.sampling.num_top_logprobs > 0) request.chat.params.sampling.logprobs = true;
  TRY(ResponseTools own, read_response_tools(body));
  request.chat.tools = std::move(own.settings);
  request.client_tools = std::move(own.client_tools);
  std::ranges::move(own.warnings, std::back_inserter(request.chat.params.warnings));
  request.chat.tools.move_warnings_to(request.chat.params.warnings);
  static const ObjectSchema known = ObjectSchema().add<R>(kResponsesFields);
  known.warn_of_others(body, request.chat.params.warnings);
  // If calls and text alternate, it is not known which tokens belong to the text.
  const ToolSettings& tools = request.chat.tools;
  if (request.chat.params.sampling.logprobs && (tools.may_call() || !tools.server_tools.empty()))
    return in_field("include", not_supported("logprobs together with tools are"));
  const json::value* max_calls = body.if_contains("max_tool_calls");
  if (!tools.server_tools.empty() && max_calls != nullptr && !max_calls->is_null())
    return in_field("max_tool_calls", not_supported("a number of calls other than the server's own is"));
  request.echo = make_echo(body);
  if (Status status = read_input(body.at("input"), request); !status.ok())
    return in_field("input", std::move(status).error());
  return request;
}

json::object responses_body_schema() {
  return ObjectSchema().add<R>(kResponsesFields).take();
}

}  // namespace kvasir::api
