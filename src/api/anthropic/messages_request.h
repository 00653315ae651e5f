#pragma once

#include <string>
#include <vector>

#include "api/answer/chat_request.h"

namespace kvasir::api {

// POST /v1/messages as Anthropic has it, checked, and as a chat.
struct MessagesRequest {
  ChatRequest chat;
  std::vector<std::string> stops;  // the request's own, which its answer names
};

// Bytes of the request's text are taken out of `body`.
base::Result<MessagesRequest> read_messages_request(json::object body);
// POST /v1/messages/count_tokens: the same request, as far as it makes a prompt.
base::Result<ChatRequest> read_count_request(json::object body);

// "messages" and "system" as chat templates want them. An answer that the last message begins becomes the
// prefill.
base::Status read_anthropic_messages(json::object& body, ChatRequest& chat);

// Tools and tool_choice.
base::Result<ToolSettings> read_anthropic_tools(const json::object& body);

// The schemas of the bodies, for /openapi.json.
json::object messages_body_schema();
json::object count_body_schema();

}  // namespace kvasir::api
