#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/answer/question/chat_request.h"
#include "api/conversations/turn_place.h"
#include "store/conversations.h"

namespace kvasir::api {

// A checked turn of a conversation.
struct TurnRequest {
  std::optional<ChatRequest> chat;    // absent: the messages are only stored
  std::vector<store::Message> added;  // with their ids and parents
  std::string title;                  // for a conversation that has no title yet
};

// The fields of a turn that decide its place. A chat does not have them.
struct TurnTarget {
  std::optional<std::string> parent_id;
  bool generate = true;
};
base::Result<TurnTarget> read_turn_target(const json::object& body);

base::Result<TurnRequest> read_turn(json::object body, const TurnPlace& place);
json::object turn_request_schema();

}  // namespace kvasir::api
