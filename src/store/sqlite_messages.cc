#include <cstddef>
#include <limits>
#include <map>
#include <ranges>
#include <utility>

#include "store/sqlite_conversations.h"
#include "store/sqlite_page.h"

namespace kvasir::store {

using base::Result;
using base::Status;

namespace {

Result<std::int64_t> conversation_seq(Transaction& transaction, const Key& key) {
  TRY(Statement statement,
      transaction.prepare("SELECT seq FROM conversations WHERE tenant = ?1 AND id = ?2"));
  TRY(const bool there, statement.bind(key.tenant).bind(key.id).step());
  if (!there) return no_such("conversation", key.id);
  return statement.integer(0);
}

Message read_message(const Statement& s) {
  Message m;
  m.id = s.text(0);
  m.parent_id = s.text(1);
  m.created_ms = s.integer(2);
  m.status = static_cast<MessageStatus>(s.integer(3));
  m.role = s.text(4);
  m.body = s.text(5);
  m.model = s.text(6);
  m.finish_reason = s.text(7);
  m.prompt_tokens = s.integer(8);
  m.cached_tokens = s.integer(9);
  m.output_tokens = s.integer(10);
  m.cost = s.number(11);
  m.first_token_ms = s.number(12);
  m.total_ms = s.number(13);
  m.context = s.text(14);
  return m;
}

Result<std::vector<MessageNode>> nodes_of(Transaction& transaction, std::int64_t conversation) {
  TRY(Statement statement, transaction.prepare("SELECT id, parent_id, status FROM messages WHERE "
                                               "conversation = ?1 ORDER BY seq"));
  statement.bind(conversation);
  std::vector<MessageNode> nodes;
  while (true) {
    TRY(const bool row, statement.step());
    if (!row) return nodes;
    nodes.push_back({statement.text(0), statement.text(1), static_cast<MessageStatus>(statement.integer(2))});
  }
}

}  // namespace

Status SqliteConversations::save(const Key& key, const Message& message) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  TRY(const std::int64_t conversation, conversation_seq(transaction, key));
  const bool running = message.status == MessageStatus::in_progress;
  {
    TRY(Statement statement,
        transaction.prepare("UPDATE messages SET owner = ?1, status = ?2, role = ?3, body = ?4, model = ?5, "
                            "finish_reason = ?6, prompt_tokens = ?7, cached_tokens = ?8, output_tokens = ?9, "
                            "cost = ?10, first_token_ms = ?11, total_ms = ?12, context = ?13 "
                            "WHERE conversation = ?14 AND id = ?15 AND owner = ?16"));
    TRY_OK(statement.bind(running ? owner_.number() : 0)
               .bind(static_cast<std::int64_t>(message.status))
               .bind(message.role)
               .bind(message.body)
               .bind(message.model)
               .bind(message.finish_reason)
               .bind(message.prompt_tokens)
               .bind(message.cached_tokens)
               .bind(message.output_tokens)
               .bind(message.cost)
               .bind(message.first_token_ms)
               .bind(message.total_ms)
               .bind(message.context)
               .bind(conversation)
               .bind(message.id)
               .bind(owner_.number())
               .run());
  }
  if (transaction.num_changes() == 0) return no_such("message in progress", message.id);
  return transaction.commit();
}

Status SqliteConversations::withdraw(const Key& key, const std::vector<std::string>& ids) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  TRY(const std::int64_t conversation, conversation_seq(transaction, key));
  TRY(const std::vector<MessageNode> nodes, nodes_of(transaction, conversation));
  std::map<std::string, std::string> parents;  // of the messages that still exist
  std::map<std::string, std::size_t> num_children;
  for (const MessageNode& node : nodes) {
    parents[node.id] = node.parent_id;
    ++num_children[node.parent_id];
  }
  std::string leaf;
  {
    TRY(Statement statement, transaction.prepare("SELECT active_leaf FROM conversations WHERE seq = ?1"));
    TRY_OK(statement.bind(conversation).step());
    leaf = statement.text(0);
  }
  bool found = false;
  for (const std::string& id : ids | std::views::reverse) {
    const auto node = parents.find(id);
    if (node == parents.end()) continue;
    found = true;
    if (num_children[id] > 0) continue;  // another turn continues this message
    TRY(Statement statement, transaction.prepare("DELETE FROM messages WHERE conversation = ?1 AND id = ?2"));
    TRY_OK(statement.bind(conversation).bind(id).run());
    if (leaf == id) leaf = node->second;
    --num_children[node->second];
    parents.erase(node);
  }
  if (!found) return no_such("message", ids.empty() ? std::string() : ids.back());
  {
    TRY(Statement statement, transaction.prepare("UPDATE conversations SET active_leaf = ?1 WHERE seq = ?2"));
    TRY_OK(statement.bind(leaf).bind(conversation).run());
  }
  return transaction.commit();
}

Status SqliteConversations::check_settled(Transaction& transaction, std::int64_t conversation,
                                          const std::string& id) const {
  TRY_OK(owner_.bury_dead(transaction));
  TRY(Statement statement,
      transaction.prepare("SELECT status FROM messages WHERE conversation = ?1 AND id = ?2"));
  TRY(const bool there, statement.bind(conversation).bind(id).step());
  if (!there) return no_such("message", id);
  if (statement.integer(0) != static_cast<std::int64_t>(MessageStatus::in_progress)) return base::ok();
  return base::Error{
      .code = base::ErrorCode::conflict,
      .message = fmt::format("the message '{}' is still being generated; wait for its end", id),
      .reason = "conversation_busy"};
}

Status SqliteConversations::rewrite(const Key& key, const std::string& id, const std::string& body) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  TRY(const std::int64_t conversation, conversation_seq(transaction, key));
  TRY_OK(check_settled(transaction, conversation, id));
  {
    TRY(Statement statement,
        transaction.prepare("UPDATE messages SET body = ?1 WHERE conversation = ?2 AND id = ?3"));
    TRY_OK(statement.bind(body).bind(conversation).bind(id).run());
  }
  return transaction.commit();
}

Status SqliteConversations::take_out(const Key& key, const std::string& id) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  TRY(const std::int64_t conversation, conversation_seq(transaction, key));
  TRY_OK(check_settled(transaction, conversation, id));
  constexpr const char* kChanges[] = {
      "UPDATE conversations SET active_leaf = (SELECT parent_id FROM messages WHERE conversation = ?1 AND "
      "id = ?2) WHERE seq = ?1 AND active_leaf = ?2",
      "UPDATE messages SET parent_id = (SELECT parent_id FROM messages WHERE conversation = ?1 AND id = ?2) "
      "WHERE conversation = ?1 AND parent_id = ?2",
      "DELETE FROM messages WHERE conversation = ?1 AND id = ?2"};
  for (const char* change : kChanges) {
    TRY(Statement statement, transaction.prepare(change));
    TRY_OK(statement.bind(conversation).bind(id).run());
  }
  return transaction.commit();
}

Result<std::vector<MessageNode>> SqliteConversations::tree(const Key& key) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::read));
  TRY(const std::int64_t conversation, conversation_seq(transaction, key));
  return nodes_of(transaction, conversation);
}

Result<std::vector<Message>> SqliteConversations::messages(const Key& key,
                                                           const std::vector<std::string>& ids) {
  return load(key, ids, std::numeric_limits<std::size_t>::max());
}

Result<std::vector<Message>> SqliteConversations::first_messages(const Key& key,
                                                                 const std::vector<std::string>& ids) {
  return load(key, ids, kMaxPageBytes);
}

Result<std::vector<Message>> SqliteConversations::load(const Key& key, const std::vector<std::string>& ids,
                                                       std::size_t max_bytes) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::read));
  TRY(const std::int64_t conversation, conversation_seq(transaction, key));
  std::vector<Message> messages;
  std::size_t num_bytes = 0;
  for (const std::string& id : ids) {
    if (num_bytes >= max_bytes) break;
    TRY(Statement statement,
        transaction.prepare("SELECT id, parent_id, created_ms, status, role, body, model, finish_reason, "
                            "prompt_tokens, cached_tokens, output_tokens, cost, first_token_ms, total_ms, "
                            "context FROM messages WHERE conversation = ?1 AND id = ?2"));
    TRY(const bool there, statement.bind(conversation).bind(id).step());
    if (!there) return no_such("message", id);
    num_bytes += statement.num_bytes();
    messages.push_back(read_message(statement));
  }
  return messages;
}

}  // namespace kvasir::store
