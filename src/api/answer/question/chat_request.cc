#include "api/answer/question/chat_request.h"

#include <set>
#include <string>
#include <utility>

namespace kvasir::api {

using base::Result;
using base::Status;

namespace {

constexpr int kMaxTopLogprobs = 20;

constexpr Field<ChatRequest> kChatFields[] = {
    {"messages", nullptr, kMessagesSchema, "an array of messages"},
    {"max_completion_tokens",
     [](const json::value& v, ChatRequest& r) { return read_max_tokens(v, r.params); },
     R"({"type": "integer", "anyOf": [{"const": -1}, {"minimum": 1, "maximum": 2147483647}],
         "description": "As max_tokens."})"},
    {"logprobs",
     [](const json::value& v, ChatRequest& r) -> Status {
       TRY(r.params.sampling.logprobs, read_bool(v));
       return base::ok();
     },
     R"({"type": "boolean", "default": false})"},
    {"top_logprobs",
     [](const json::value& v, ChatRequest& r) -> Status {
       TRY(const std::int64_t number, read_integer(v, {0, kMaxTopLogprobs}));
       if (!r.params.sampling.logprobs) return wrong_value("only allowed together with \"logprobs\": true");
       r.params.sampling.num_top_logprobs = static_cast<int>(number);
       return base::ok();
     },
     R"({"type": "integer", "minimum": 0, "maximum": 20, "description": "With `logprobs` only."})"},
    {"chat_template_kwargs",
     [](const json::value& v, ChatRequest& r) -> Status {
       if (!v.is_object()) return wrong_type("an object", v);
       r.template_kwargs = v.get_object();
       return base::ok();
     },
     R"({"type": "object", "description": "Variables of the model's template."})"},
    {"echo",
     [](const json::value& v, ChatRequest&) -> Status {
       TRY(const bool wanted, read_bool(v));
       return wanted ? Status(not_supported("echoing a message is")) : base::ok();
     }},
    {"suffix",
     [](const json::value& v, ChatRequest&) -> Status {
       TRY(const std::string suffix, read_string(v));
       return suffix.empty() ? base::ok() : Status(not_supported("filling a gap in a chat is"));
     }},
    {"best_of",
     [](const json::value& v, ChatRequest&) -> Status {
       TRY(const std::int64_t number, read_integer(v, {1, kMaxSequencesPerRequest}));
       return number > 1 ? Status(not_supported("choosing among answers of a chat is")) : base::ok();
     }},
    {"reasoning_effort", read_reasoning_effort,
     R"({"enum": ["none", "minimal", "low", "medium", "high", "xhigh", "max"],
         "description": "A variable of the model's template; a warning where it has none of that name."})"},
    {"add_special_tokens",
     [](const json::value& v, ChatRequest&) -> Status {
       TRY(const bool wanted, read_bool(v));
       return wanted ? Status(not_supported("adding tokens to the template's own is")) : base::ok();
     },
     R"({"enum": [false]})"},
    {"context_policy",
     [](const json::value& v, ChatRequest& r) -> Status {
       TRY(r.context_policy, read_context_policy(v));
       r.chose_policy = true;
       return base::ok();
     },
     R"({"enum": ["error", "sliding_window", "summarize"], "default": "error",
         "description": "What is done with messages that the model's context cannot hold."})"},
    {"continue_final_message",
     [](const json::value& v, ChatRequest& r) -> Status {
       TRY(r.continues_last, read_bool(v));
       return base::ok();
     },
     R"({"type": "boolean",
         "description": "Whether a last message of the assistant is the beginning of the answer; true unless it is false."})"},
    {"add_generation_prompt",
     [](const json::value& v, ChatRequest& r) -> Status {
       TRY(r.add_generation_prompt, read_bool(v));
       return base::ok();
     },
     R"({"type": "boolean", "default": true})"},
};

// Whether the message is a text of the assistant that can be continued. A message that calls tools or refuses
// is complete.
bool is_beginning(const json::object& message) {
  const auto has = [&](std::string_view key) {
    const json::value* value = message.if_contains(key);
    return value != nullptr && !value->is_null() && !(value->is_array() && value->get_array().empty());
  };
  return message.at("role") == "assistant" && !has("tool_calls") && !has("refusal") &&
         !content_text(message).empty();
}

ObjectSchema describe_chat() {
  ObjectSchema schema;
  describe_params(schema);
  describe_tools(schema);
  return schema.add<ChatRequest>(kChatFields);
}

}  // namespace

// A last message of the assistant begins the answer in Anthropic's API and in llama.cpp too.
Status take_beginning(ChatRequest& request) {
  const bool wanted = request.continues_last.value_or(request.add_generation_prompt);
  const bool found = is_beginning(request.messages.back().get_object()) && request.messages.size() > 1;
  if (request.continues_last.value_or(false) && !found)
    return in_field("continue_final_message", wrong_value("the last message is not a text of the assistant"));
  if (!wanted || !found) return base::ok();
  request.prefill = content_text(request.messages.back().get_object());
  request.messages.pop_back();
  request.add_generation_prompt = true;
  return base::ok();
}

Status read_reasoning_effort(const json::value& value, ChatRequest& request) {
  TRY(request.reasoning_effort, read_string(value));
  for (const std::string_view word : {"none", "minimal", "low", "medium", "high", "xhigh", "max"})
    if (request.reasoning_effort == word) return base::ok();
  return wrong_value("expected one of none, minimal, low, medium, high, xhigh, max");
}

Result<ChatRequest> read_chat_request(json::object body) {
  ChatRequest request;
  TRY_OK(read_params(body, request.params));
  TRY_OK(read_fields<ChatRequest>(body, kChatFields, request));
  for (const char* other : {"max_tokens", "n_predict"})
    warn_of_other_name(body, "max_completion_tokens", other, request.params.warnings);
  TRY(request.tools, read_tools(body));
  request.tools.move_warnings_to(request.params.warnings);
  static const ObjectSchema known = describe_chat();
  known.warn_of_others(body, request.params.warnings);
  TRY(request.messages, read_messages(body.at("messages")));
  TRY_OK(take_beginning(request));
  return request;
}

MakeShape chat_shape(const ChatRequest& request) {
  std::set<std::string> custom_tools;
  for (const ToolSettings::Tool& tool : request.tools.tools)
    if (tool.is_custom) custom_tools.insert(tool.name);
  return [custom_tools](AnswerHead head) { return chat_shape(std::move(head), custom_tools); };
}

json::object chat_request_schema() {
  return describe_chat().take();
}

}  // namespace kvasir::api
