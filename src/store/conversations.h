#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/page.h"

namespace kvasir::store {

// Fields with JSON are stored as they are. Times are in milliseconds since the epoch.
struct Conversation {
  std::string id;
  std::string tenant;
  std::int64_t created_ms = 0;
  std::int64_t updated_ms = 0;
  std::string title;  // empty: none yet
  std::string model;
  std::string system_prompt;
  std::string settings = "{}";  // JSON object
  std::string metadata = "{}";  // JSON object
  std::string active_leaf;      // last message of the active branch; empty: there are no messages
};

// Changes the fields that are set.
struct ConversationChange {
  std::optional<std::string> title;
  std::optional<std::string> model;
  std::optional<std::string> system_prompt;
  std::optional<std::string> settings;
  std::optional<std::string> metadata;
  std::optional<std::string> active_leaf;
  std::int64_t now_ms = 0;
};

enum class MessageStatus : std::uint8_t {
  completed,
  in_progress,  // a living process is generating it
  incomplete,   // ended early; the text that was generated is there
};
std::string_view name_of(MessageStatus status);

struct Message {
  std::string id;
  std::string parent_id;  // empty: the first of its branch
  std::int64_t created_ms = 0;
  MessageStatus status = MessageStatus::completed;
  std::string role;
  std::string body = "{}";  // JSON object: content, tool_calls, ...
  std::string model;
  std::string finish_reason;
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;
  std::int64_t output_tokens = 0;
  std::optional<double> cost;
  std::optional<double> first_token_ms;
  std::optional<double> total_ms;
  std::string context;  // JSON object about the model's prompt; empty: no model was asked
};

// The place of a message in its conversation.
struct MessageNode {
  std::string id;
  std::string parent_id;
  MessageStatus status = MessageStatus::completed;
};

struct Append {
  std::vector<Message> messages;  // each the child of the one before it
  // The active leaf that the caller has read. conflict: another leaf is active now. Unset: the messages form
  // a branch, whatever leaf is active.
  std::optional<std::string> expected_leaf;
  // The messages become active only if their parent is active. Otherwise the branch that was chosen meanwhile
  // stays active.
  bool only_follows = false;
  std::string title;  // used if the conversation has none
  std::int64_t now_ms = 0;
};

// Conversations as trees of messages. Every change is durable once the call returns. Calls block and are
// thread-safe.
class Conversations {
 public:
  virtual ~Conversations() = default;

  virtual base::Status add(const Conversation& conversation) = 0;
  // not_found, here and below: the tenant has no such conversation.
  virtual base::Result<Conversation> find(const Key& key) = 0;
  virtual base::Result<Page<Conversation>> list(const std::string& tenant, const PageQuery& query) = 0;
  // A new active leaf must be a message of the conversation.
  virtual base::Result<Conversation> change(const Key& key, const ConversationChange& change) = 0;
  // Removes the conversation with all its messages.
  virtual base::Status remove(const Key& key) = 0;

  // The last message becomes the active leaf. conflict: `expected_leaf` is not active, or the parent is still
  // being generated. not_found: the parent does not exist.
  virtual base::Status append(const Key& key, const Append& append) = 0;
  // Replaces a message in progress, except for its place and its creation time, with its current or final
  // state. not_found: the message no longer exists.
  virtual base::Status save(const Key& key, const Message& message) = 0;
  // Removes the messages of one turn, given in their order. A message that another turn continues stays, and
  // so do those before it; missing messages are skipped. If the active leaf is removed, the nearest earlier
  // message that stays becomes active. not_found: none of the messages exists.
  virtual base::Status withdraw(const Key& key, const std::vector<std::string>& ids) = 0;

  // Replaces the body of a message. conflict: it is being generated.
  virtual base::Status rewrite(const Key& key, const std::string& id, const std::string& body) = 0;
  // Removes one message; its children move to its parent. conflict: it is being generated.
  virtual base::Status take_out(const Key& key, const std::string& id) = 0;

  // All messages in the order of their creation.
  virtual base::Result<std::vector<MessageNode>> tree(const Key& key) = 0;
  // The messages in the order of `ids`. not_found: one is missing.
  virtual base::Result<std::vector<Message>> messages(const Key& key,
                                                      const std::vector<std::string>& ids) = 0;
  // The first of these messages, up to the one that reaches kMaxPageBytes.
  virtual base::Result<std::vector<Message>> first_messages(const Key& key,
                                                            const std::vector<std::string>& ids) = 0;
};

}  // namespace kvasir::store
