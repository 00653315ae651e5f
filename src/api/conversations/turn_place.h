#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/conversations.h"

namespace kvasir::api {

// The place of a turn in its conversation, after it has been looked up.
struct TurnPlace {
  store::Key key;
  store::Conversation conversation;
  std::vector<std::string> path;  // ids of the messages that the new ones follow
  // The last messages of `path`, up to a limit of bytes; empty if no answer is generated.
  std::vector<store::Message> branch;
  std::optional<std::string> expected_leaf;  // absent: the turn starts a branch
  std::string edited_role;                   // role of the message that is edited; empty: none is
};

// Where a turn should go: after the message `parent_id`, beside the message `edited_id` as its new version,
// or else at the end of the active branch.
struct WantedPlace {
  store::Key key;
  std::optional<std::string> parent_id = std::nullopt;
  std::string edited_id = {};  // empty: none
  bool generate = true;
};

std::size_t bytes_of(const std::vector<store::Message>& messages);

// Looks the place up in the store; blocks. not_found: there is no such conversation or message.
base::Result<TurnPlace> find_place(store::Conversations& conversations, const WantedPlace& wanted);

}  // namespace kvasir::api
