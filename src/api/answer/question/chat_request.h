#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/answer/job/context_report.h"
#include "api/answer/question/generate_params.h"
#include "api/answer/question/tools.h"
#include "api/answer/shape/answer_shape.h"
#include "text/chat_template.h"

namespace kvasir::api {

// A checked POST /v1/chat/completions. Its messages have the form that templates take: `content` is a string,
// null, or parts that are all text (`fit_messages`), the role is "system" instead of "developer", and the
// arguments of tool calls are JSON, not strings of JSON.
struct ChatRequest {
  GenerateParams params;
  json::array messages;  // never empty
  ToolSettings tools;
  json::object template_kwargs;
  std::string reasoning_effort;  // empty if not given
  std::string_view effort_field = "reasoning_effort";
  bool add_generation_prompt = true;
  std::optional<bool> continues_last;  // whether to continue an assistant's last message; absent: not said
  std::string prefill;                 // the beginning of the answer
  std::string_view messages_field = "messages";  // the field's name in this API
  ContextPolicy context_policy = ContextPolicy::error;
  bool chose_policy = false;  // the client chose the policy, so the answer reports what the policy did
};

// Moves the request's texts out of `body`.
base::Result<ChatRequest> read_chat_request(json::object body);
json::object chat_request_schema();

// How the answer to a chat completion is written.
MakeShape chat_shape(const ChatRequest& request);

// If the last message is the assistant's, moves it to `prefill`, since it is the beginning of the answer.
base::Status take_beginning(ChatRequest& request);

// Takes one of OpenAI's efforts. Whether the model's template supports it is checked later.
base::Status read_reasoning_effort(const json::value& value, ChatRequest& request);

// A message's content as one text. Empty if it has none.
std::string content_text(const json::object& message);

// Converts messages to the form that the template takes: for example, joins parts to a string or makes a
// string a part.
void fit_messages(const text::MessageShape& shape, json::array& messages);

// Reads only messages, for /v1/tokenize. The error's field is relative to "messages".
base::Result<json::array> read_messages(json::value& value);
inline constexpr std::string_view kMessagesSchema = R"({"type": "array", "minItems": 1, "items": {"anyOf": [
    {"type": "object", "required": ["role", "content"], "properties": {
      "role": {"enum": ["system", "developer", "user", "assistant", "tool"]},
      "content": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"anyOf": [
        {"type": "object", "required": ["type", "text"],
         "properties": {"type": {"const": "text"}, "text": {"type": "string"}}},
        {"type": "object", "required": ["type", "refusal"],
         "properties": {"type": {"const": "refusal"}, "refusal": {"type": "string"}}}]}}]},
      "tool_call_id": {"description": "Of a tool's message: the call that it answers."}, "name": {},
      "tool_calls": {"type": ["array", "null"], "items": {"$ref": "#/components/schemas/EarlierCall"}}}},
    {"type": "object", "required": ["role", "tool_calls"], "properties": {
      "role": {"const": "assistant"}, "content": {"type": "null"},
      "tool_calls": {"type": "array", "items": {"$ref": "#/components/schemas/EarlierCall"}}}},
    {"type": "object", "required": ["role", "refusal"], "properties": {
      "role": {"const": "assistant"}, "content": {"type": "null"}, "refusal": {"type": "string"}}}]}})";

}  // namespace kvasir::api
