#pragma once

#include <string>
#include <string_view>

#include "api/answer/context_report.h"
#include "api/answer/generate_params.h"
#include "api/answer/tools.h"
#include "text/chat_template.h"

namespace kvasir::api {

// POST /v1/chat/completions, checked. Its messages are as templates want them: `content` is a string, null or
// parts that are all text (`fit_messages`), a developer's role is "system", and a tool call's arguments are
// JSON rather than a string of it.
struct ChatRequest {
  GenerateParams params;
  json::array messages;  // never empty
  ToolSettings tools;
  json::object template_kwargs;
  std::string reasoning_effort;  // empty: not given
  std::string_view effort_field = "reasoning_effort";
  bool add_generation_prompt = true;
  std::string prefill;                           // the beginning of the answer
  std::string_view messages_field = "messages";  // as this API's clients know it
  ContextPolicy context_policy = ContextPolicy::error;
  bool chose_policy = false;  // the client did, so it hears of what came of it
};

// Bytes of the request's text are taken out of `body`.
base::Result<ChatRequest> read_chat_request(json::object body);
json::object chat_request_schema();

// One of OpenAI's efforts; whether the model's template takes it is seen later.
base::Status read_reasoning_effort(const json::value& value, ChatRequest& request);

// A message's content as one text; "" where it has none.
std::string content_text(const json::object& message);

// Makes messages what the template takes: parts joined to a string, or a string made a part, and so on.
void fit_messages(const text::MessageShape& shape, json::array& messages);

// The messages alone, for /v1/tokenize. The error's field is inside "messages".
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
      "tool_calls": {"type": ["array", "null"], "items": {"type": "object", "required": ["function"],
                     "properties": {"function": {"type": "object"}}}}}},
    {"type": "object", "required": ["role", "tool_calls"], "properties": {
      "role": {"const": "assistant"}, "content": {"type": "null"},
      "tool_calls": {"type": "array", "items": {"type": "object", "required": ["function"],
                     "properties": {"function": {"type": "object"}}}}}},
    {"type": "object", "required": ["role", "refusal"], "properties": {
      "role": {"const": "assistant"}, "content": {"type": "null"}, "refusal": {"type": "string"}}}]}})";

}  // namespace kvasir::api
