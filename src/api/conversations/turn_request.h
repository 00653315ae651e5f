#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/answer/chat_request.h"
#include "store/conversations.h"

namespace kvasir::api {

// The place of a turn in its conversation.
struct TurnPlace {
  store::Key key;
  store::Conversation conversation;
  std::vector<std::string> path;  // ids of the messages that the new ones follow
  // The last messages of `path`, up to a limit of bytes; empty if no model is asked.
  std::vector<store::Message> branch;
  std::optional<std::string> expected_leaf;  // absent: the turn starts a branch
  std::string edited_role;                   // role of the message that this is a new version of; empty: none
};

// A checked turn of a conversation.
struct TurnRequest {
  std::optional<ChatRequest> chat;    // absent: the messages are only stored
  std::vector<store::Message> added;  // with their ids and parents
  std::string title;                  // for a conversation that has none
};

// The fields of a turn that are not a chat's and that decide its place.
struct TurnTarget {
  std::optional<std::string> parent_id;
  bool generate = true;
};
base::Result<TurnTarget> read_turn_target(const json::object& body);

base::Result<TurnRequest> read_turn(json::object body, const TurnPlace& place);
json::object turn_request_schema();

}  // namespace kvasir::api
