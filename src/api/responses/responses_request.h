#pragma once

#include <cstddef>
#include <string>

#include "api/answer/chat_request.h"

namespace kvasir::api {

// POST /v1/responses as OpenAI has it, checked. Its chat lacks the messages: they are made of the items.
struct ResponsesRequest {
  ChatRequest chat;
  json::object echo;  // what the answer repeats of the request
  json::array items;  // the input, each with an id and a type
  std::string instructions;
  std::string previous_id;
  bool store = true;
};

// Bytes of the request's text are taken out of `body`.
base::Result<ResponsesRequest> read_responses_request(json::object body);

// Items as the messages of a chat: calls join the assistant's message before them, and reasoning the one
// after it. The error's field is inside "input", whose first item is number `num_earlier` of these.
base::Result<json::array> messages_of_items(const json::array& items, std::size_t num_earlier);

json::object responses_body_schema();

}  // namespace kvasir::api
