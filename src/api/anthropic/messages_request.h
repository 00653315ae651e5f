#pragma once

#include <string>
#include <vector>

#include "api/answer/question/chat_request.h"

namespace kvasir::api {

// A checked POST /v1/messages of Anthropic's API, converted to a chat.
struct MessagesRequest {
  ChatRequest chat;
  std::vector<std::string> stops;  // the request's stop sequences, which the answer may name
};

// Moves the request's texts out of `body`.
base::Result<MessagesRequest> read_messages_request(json::object body);
// Reads a POST /v1/messages/count_tokens: only the fields that determine the prompt.
base::Result<ChatRequest> read_count_request(json::object body);

// Converts "messages" and "system" to the form that chat templates want. If the last message is the beginning
// of an answer, it becomes the prefill.
base::Status read_anthropic_messages(json::object& body, ChatRequest& chat);

// Reads tools and tool_choice.
base::Result<ToolSettings> read_anthropic_tools(const json::object& body);

// The schemas of the bodies, for /openapi.json.
json::object messages_body_schema();
json::object count_body_schema();

}  // namespace kvasir::api
