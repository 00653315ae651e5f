#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "api/answer/chat_request.h"
#include "api/responses/responses_tools.h"

namespace kvasir::api {

// A checked POST /v1/responses of OpenAI's API. Its chat has no messages yet; they are made from the items.
struct ResponsesRequest {
  ChatRequest chat;
  json::object echo;  // settings of the request that the answer repeats
  json::array items;  // the input; every item has an id and a type
  ClientTools client_tools;
  std::string instructions;
  std::string previous_id;
  bool store = true;
};

// Moves the request's texts out of `body`.
base::Result<ResponsesRequest> read_responses_request(json::object body);

// Converts items to the messages of a chat. Calls join the assistant's message before them, and reasoning
// joins the message after it. Items that tell a model nothing, or nothing that can be read, are left out with
// a warning. The error's field is relative to "input", whose first item is `items[num_earlier]`.
base::Result<json::array> messages_of_items(const json::array& items, std::size_t num_earlier,
                                            std::vector<std::string>& warnings);

json::object responses_body_schema();

}  // namespace kvasir::api
