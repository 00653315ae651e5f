#include "api/conversations/turn_place.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "api/conversations/message_tree.h"

namespace kvasir::api {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// At most this much text is loaded from the messages before a turn. No context holds more.
constexpr std::size_t kMaxHistoryBytes = std::size_t{32} << 20;

// Loads the last messages of a path, up to kMaxHistoryBytes.
Result<std::vector<store::Message>> load_history(store::Conversations& conversations, const store::Key& key,
                                                 const std::vector<std::string>& path) {
  std::vector<std::string> left(path.rbegin(), path.rend());
  std::vector<store::Message> history;  // the newest first
  std::size_t num_bytes = 0;
  while (!left.empty() && num_bytes < kMaxHistoryBytes) {
    TRY(std::vector<store::Message> some, conversations.first_messages(key, left));
    left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(some.size()));
    for (store::Message& message : some) {
      num_bytes += message.body.size();
      history.push_back(std::move(message));
    }
  }
  std::reverse(history.begin(), history.end());
  return history;
}

Error no_message(const std::string& id, const char* field) {
  return Error{ErrorCode::not_found, fmt::format("there is no message '{}' in this conversation", id), field,
               "not_found"};
}

}  // namespace

std::size_t bytes_of(const std::vector<store::Message>& messages) {
  std::size_t num_bytes = 0;
  for (const store::Message& message : messages) num_bytes += message.body.size();
  return num_bytes;
}

Result<TurnPlace> find_place(store::Conversations& conversations, const WantedPlace& wanted) {
  TurnPlace place;
  place.key = wanted.key;
  TRY(place.conversation, conversations.find(wanted.key));
  TRY(std::vector<store::MessageNode> nodes, conversations.tree(wanted.key));
  const MessageTree tree(std::move(nodes));
  std::string parent = place.conversation.active_leaf;
  if (!wanted.edited_id.empty()) {
    if (!tree.contains(wanted.edited_id)) return no_message(wanted.edited_id, "");
    TRY(const std::vector<store::Message> edited, conversations.messages(wanted.key, {wanted.edited_id}));
    place.edited_role = edited.front().role;
    parent = tree.parent(wanted.edited_id);
  } else if (wanted.parent_id) {
    if (!tree.contains(*wanted.parent_id)) return no_message(*wanted.parent_id, "parent_id");
    parent = *wanted.parent_id;
  } else {
    place.expected_leaf = parent;
  }
  place.path = tree.path_to(parent);
  if (wanted.generate) {
    TRY(place.branch, load_history(conversations, wanted.key, place.path));
  }
  return place;
}

}  // namespace kvasir::api
