#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
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

// Where a turn goes: after the message that it names, beside the message that it is a new version of, or
// after the active branch.
struct WantedPlace {
  store::Key key;
  std::optional<std::string> parent_id = std::nullopt;
  std::string edited_id = {};  // empty: none
  bool generate = true;
};

std::size_t bytes_of(const std::vector<store::Message>& messages);

// Blocks. not_found: there is no such conversation or message.
base::Result<TurnPlace> find_place(store::Conversations& conversations, const WantedPlace& wanted);

}  // namespace kvasir::api
