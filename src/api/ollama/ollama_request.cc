#include "api/ollama/ollama_request.h"

#include <string_view>
#include <utility>

#include "api/answer/question/receipt.h"
#include "api/http/json/object_schema.h"

namespace kvasir::api {

using base::Result;
using base::Status;
using Kind = grammar::GrammarSource::Kind;

namespace {

constexpr int kMaxTopLogprobs = 20;

// A request while it is read.
struct Draft {
  OllamaRequest request;
  // The members below are for /api/generate.
  std::string prompt;
  std::string system;
  bool is_raw = false;

  ChatRequest& chat() { return request.chat; }
  GenerateParams& params() { return request.params(); }
};

Status read_model(const json::value& value, Draft& draft) {
  TRY(draft.params().model, read_string(value));
  return base::ok();
}

Status read_format(const json::value& value, Draft& draft) {
  if (value.is_object()) {
    draft.params().format = OutputFormat{
        .source = {.kind = Kind::json_schema, .text = base::json_text(value)}, .field = "format"};
    return base::ok();
  }
  if (!value.is_string()) return wrong_type("\"json\" or a JSON schema", value);
  const std::string_view name = value.get_string();
  if (name.empty()) return base::ok();
  if (name != "json") return wrong_value(fmt::format("expected \"json\" or a JSON schema, got \"{}\"", name));
  draft.params().format = OutputFormat{.source = {.kind = Kind::json_object}, .field = "format"};
  return base::ok();
}

Status read_think(const json::value& value, Draft& draft) {
  if (value.is_bool()) {
    draft.request.wants_thinking = value.get_bool();
    draft.chat().template_kwargs["enable_thinking"] = value.get_bool();
    return base::ok();
  }
  if (!value.is_string()) return wrong_type("a boolean, \"low\", \"medium\" or \"high\"", value);
  draft.chat().effort_field = "think";
  draft.request.wants_thinking = true;
  return read_reasoning_effort(value, draft.chat());
}

Status read_kept(const json::value& value, Draft& draft) {
  TRY(draft.request.keep_alive, read_keep_alive(value));
  return base::ok();
}

Status read_top_logprobs(const json::value& value, Draft& draft) {
  TRY(const std::int64_t number, read_integer(value, {0, kMaxTopLogprobs}));
  wire::SamplingParams& sampling = draft.params().sampling;
  if (number > 0 && !sampling.logprobs) return wrong_value("only allowed together with \"logprobs\": true");
  sampling.num_top_logprobs = static_cast<int>(number);
  return base::ok();
}

// Ollama silently leaves out a chat's oldest messages. Here a request must ask for it, and the answer says
// so.
Status read_truncate(const json::value& value, Draft& draft) {
  TRY(const bool wanted, read_bool(value));
  draft.chat().context_policy = wanted ? ContextPolicy::sliding_window : ContextPolicy::error;
  draft.chat().chose_policy = wanted;
  return base::ok();
}

Status read_shift(const json::value& value, Draft& draft) {
  TRY(const bool wanted, read_bool(value));
  if (wanted)
    draft.params().warnings.emplace_back("shift: ignored, an answer ends where the model's context does");
  return base::ok();
}

// Reads a field that is not supported, which is an error unless it is empty.
Status only_no_text(const json::value& value, Draft&) {
  const bool nothing = value.is_string() && value.get_string().empty();
  return nothing ? base::ok() : Status(not_supported("this field is"));
}

Status only_no_items(const json::value& value, Draft&) {
  const bool nothing = value.is_array() && value.get_array().empty();
  return nothing ? base::ok() : Status(not_supported("this field is"));
}

Status only_zero(const json::value& value, Draft&) {
  return value == 0 ? base::ok() : Status(not_supported("this field is"));
}

constexpr Field<Draft> kCommonFields[] = {
    {"model", read_model, kOllamaModelSchema, "one of the models that GET /api/tags lists"},
    {"stream",
     [](const json::value& v, Draft& d) -> Status {
       TRY(d.params().stream, read_bool(v));
       return base::ok();
     },
     R"({"type": "boolean", "default": true, "description": "Lines of JSON instead of one answer."})"},
    {"options", [](const json::value& v, Draft& d) -> Status { return read_ollama_options(v, d.request); },
     kOllamaOptionsSchema},
    {"format", read_format,
     R"({"anyOf": [{"enum": ["", "json"]}, {"type": "object"}],
         "description": "Some JSON object, or a JSON schema that the answer has to meet."})"},
    {"keep_alive", read_kept, kKeepAliveSchema},
    {"think", read_think,
     R"({"anyOf": [{"type": "boolean"}, {"enum": ["none", "minimal", "low", "medium", "high", "xhigh", "max"]}],
         "description": "Whether, or how much, a model that can reason does so before it answers."})"},
    {"logprobs",
     [](const json::value& v, Draft& d) -> Status {
       TRY(d.params().sampling.logprobs, read_bool(v));
       return base::ok();
     },
     R"({"type": "boolean", "default": false})"},
    {"top_logprobs", read_top_logprobs, R"({"type": "integer", "minimum": 0, "maximum": 20})"},
    {"truncate", read_truncate,
     R"({"type": "boolean", "default": false,
         "description": "Leaves out a chat's oldest messages if the context cannot hold them."})"},
    {"shift", read_shift, R"({"type": "boolean", "description": "It has no effect; a warning says so."})"},
    {"kvasir", [](const json::value& v, Draft& d) -> Status { return read_own_field(v, d.params()); },
     kOwnFieldSchema},
};

constexpr Field<Draft> kChatFields[] = {
    {"messages", nullptr,
     R"({"type": "array", "description": "Without any, the model is only looked for.", "items": {
          "type": "object", "required": ["role"], "properties": {
            "role": {"enum": ["system", "user", "assistant", "tool"]}, "content": {"type": ["string", "null"]},
            "thinking": {"type": ["string", "null"]}, "tool_name": {"type": ["string", "null"]},
            "images": {"type": ["array", "null"], "maxItems": 0},
            "tool_calls": {"type": ["array", "null"], "items": {"type": "object", "required": ["function"],
              "properties": {"function": {"type": "object", "required": ["name"], "properties": {
                "name": {"type": "string"}, "arguments": {"type": ["object", "string", "null"]}}}}}}}}})"},
    {"tools", nullptr,
     R"({"type": "array", "items": {"type": "object", "required": ["function"], "properties": {
          "type": {"const": "function"}, "function": {"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string"}, "description": {"type": "string"},
            "parameters": {"type": "object"}}}}}})"},
    {"server_tools", nullptr, kServerToolsSchema},
};

constexpr Field<Draft> kGenerateFields[] = {
    {"prompt",
     [](const json::value& v, Draft& d) -> Status {
       TRY(d.prompt, read_string(v));
       return base::ok();
     },
     R"({"type": "string", "description": "Without one, the model is only looked for."})"},
    {"system",
     [](const json::value& v, Draft& d) -> Status {
       TRY(d.system, read_string(v));
       return base::ok();
     },
     R"({"type": "string"})"},
    {"raw",
     [](const json::value& v, Draft& d) -> Status {
       TRY(d.is_raw, read_bool(v));
       return base::ok();
     },
     R"({"type": "boolean", "default": false, "description": "The prompt as it is, without the model's template."})"},
    {"suffix",
     [](const json::value& v, Draft& d) -> Status {
       TRY(d.request.suffix, read_string(v));
       return base::ok();
     },
     R"({"type": "string", "description": "Text after a gap, which the answer fills; the prompt comes before the gap."})"},
    {"template", only_no_text, R"({"enum": [""]})"},
    {"images", only_no_items, R"({"type": "array", "maxItems": 0})"},
    {"context", only_no_items,
     R"({"type": "array", "maxItems": 0, "description": "A conversation goes to /api/chat, whole."})"},
    {"width", only_zero, R"({"enum": [0]})"},
    {"height", only_zero, R"({"enum": [0]})"},
    {"steps", only_zero, R"({"enum": [0]})"},
};

void only_look_for_model(OllamaRequest& request) {
  request.use =
      request.keep_alive == KeepAlive::not_at_all ? OllamaRequest::Use::unload : OllamaRequest::Use::load;
}

// A raw prompt has no template, so fields that only a template could use are errors.
Status check_raw(const Draft& draft) {
  if (!draft.system.empty())
    return in_field("system", wrong_value("a prompt that is raw or has a suffix has no place for it"));
  if (draft.request.wants_thinking)
    return in_field("think", wrong_value("a prompt that is raw or has a suffix has no place for it"));
  return base::ok();
}

void warn_of_keep_alive(OllamaRequest& request) {
  if (request.keep_alive == KeepAlive::some_time || request.keep_alive == KeepAlive::not_at_all)
    request.params().warnings.emplace_back(kKeepAliveIgnored);
}

ObjectSchema chat_fields() {
  ObjectSchema fields;
  describe_tools(fields);
  return fields.add<Draft>(kCommonFields).add<Draft>(kChatFields);
}

Result<Draft> read_common(const json::object& body) {
  Draft draft;
  draft.params().stream = true;
  TRY_OK(read_fields<Draft>(body, kCommonFields, draft));
  warn_of_keep_alive(draft.request);
  return draft;
}

}  // namespace

QuestionText OllamaRequest::take_text() {
  if (!raw) return std::move(chat);
  CompletionRequest completion;
  completion.params = std::move(chat.params);
  completion.prompts.emplace_back(std::move(*raw));
  if (!suffix.empty()) completion.infill = Infill{.suffix = std::move(suffix)};
  return completion;
}

Result<OllamaRequest> read_ollama_chat(json::object body) {
  TRY(Draft draft, read_common(body));
  TRY(draft.chat().tools, read_tools(body));
  static const ObjectSchema known = chat_fields();
  known.warn_of_others(body, draft.params().warnings);
  const json::value* messages = body.if_contains("messages");
  const bool none =
      messages == nullptr || messages->is_null() || (messages->is_array() && messages->get_array().empty());
  if (none) {
    only_look_for_model(draft.request);
    return std::move(draft.request);
  }
  TRY(draft.chat().messages, read_ollama_messages(*messages));
  TRY_OK(take_beginning(draft.chat()));
  return std::move(draft.request);
}

Result<OllamaRequest> read_ollama_generate(json::object body) {
  TRY(Draft draft, read_common(body));
  TRY_OK(read_fields<Draft>(body, kGenerateFields, draft));
  static const ObjectSchema known = ObjectSchema().add<Draft>(kCommonFields).add<Draft>(kGenerateFields);
  known.warn_of_others(body, draft.params().warnings);
  if (draft.prompt.empty() && draft.request.suffix.empty()) {
    only_look_for_model(draft.request);
    return std::move(draft.request);
  }
  // A prompt with a gap gets no template either, as in Ollama.
  if (draft.is_raw || !draft.request.suffix.empty()) {
    TRY_OK(check_raw(draft));
    draft.request.raw = std::move(draft.prompt);
    return std::move(draft.request);
  }
  ChatRequest& chat = draft.chat();
  chat.messages_field = "prompt";
  if (!draft.system.empty())
    chat.messages.push_back(json::object{{"role", "system"}, {"content", std::move(draft.system)}});
  chat.messages.push_back(json::object{{"role", "user"}, {"content", std::move(draft.prompt)}});
  return std::move(draft.request);
}

json::object ollama_chat_schema() {
  return ObjectSchema().add<Draft>(kCommonFields).add<Draft>(kChatFields).take();
}

json::object ollama_generate_schema() {
  return ObjectSchema().add<Draft>(kCommonFields).add<Draft>(kGenerateFields).take();
}

}  // namespace kvasir::api
