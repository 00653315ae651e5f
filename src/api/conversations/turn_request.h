#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/answer/chat_request.h"
#include "store/conversations.h"

namespace kvasir::api {

// A conversation as a turn finds it.
struct TurnPlace {
  store::Key key;
  store::Conversation conversation;
  std::vector<std::string> path;  // ids of the messages that the new ones follow
  // The last of them, up to the bytes that a turn looks at; none where no model is asked.
  std::vector<store::Message> branch;
  std::optional<std::string> expected_leaf;  // unset: the turn is a branch
  std::string edited_role;  // of the message that the turn is another version of; empty: none
};

// One turn of a conversation, checked.
struct TurnRequest {
  std::optional<ChatRequest> chat;    // absent: the messages are only stored
  std::vector<store::Message> added;  // with their ids and parents
  std::string title;                  // that the conversation gets where it has none
};

// What the body names besides a chat's fields, without which its place cannot be found.
struct TurnTarget {
  std::optional<std::string> parent_id;
  bool generate = true;
};
base::Result<TurnTarget> read_turn_target(const json::object& body);

base::Result<TurnRequest> read_turn(json::object body, const TurnPlace& place);
json::object turn_request_schema();

}  // namespace kvasir::api
