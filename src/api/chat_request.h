#pragma once

#include "api/generate_params.h"
#include "api/tools.h"

namespace kvasir::api {

// POST /v1/chat/completions, checked. Its messages are as templates want them: `content` is a string or null,
// a developer's role is "system", and a tool call's arguments are JSON rather than a string of it.
struct ChatRequest {
  GenerateParams params;
  json::array messages;  // never empty
  ToolSettings tools;
  json::object template_kwargs;
  bool add_generation_prompt = true;
};

// Bytes of the request's text are taken out of `body`.
base::Result<ChatRequest> read_chat_request(json::object body);

// The messages alone, for /v1/tokenize. The error's field is inside "messages".
base::Result<json::array> read_messages(json::value& value);

}  // namespace kvasir::api
