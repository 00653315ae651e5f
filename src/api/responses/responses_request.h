#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/answer/question/chat_request.h"
#include "api/conversations/turn_place.h"
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
  std::string conversation_id;
  // If the request is a turn of a conversation and was looked up: its place, and the messages that it adds.
  std::optional<TurnPlace> place = std::nullopt;
  std::vector<store::Message> added = {};
  bool store = true;
  bool background() const { return chat.params.background; }
};

// Moves the request's texts out of `body`.
base::Result<ResponsesRequest> read_responses_request(json::object body);

json::object responses_body_schema();

}  // namespace kvasir::api
