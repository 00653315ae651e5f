#include "store/sqlite_conversations.h"

#include <utility>

#include "store/sqlite_page.h"

namespace kvasir::store {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

#define CONVERSATION_COLUMNS \
  "id, tenant, created_ms, updated_ms, title, model, system_prompt, settings, metadata, active_leaf, seq"

struct Row {
  Conversation conversation;
  std::int64_t seq = 0;
};

Row read_row(const Statement& s) {
  Row row;
  Conversation& c = row.conversation;
  c.id = s.text(0);
  c.tenant = s.text(1);
  c.created_ms = s.integer(2);
  c.updated_ms = s.integer(3);
  c.title = s.text(4);
  c.model = s.text(5);
  c.system_prompt = s.text(6);
  c.settings = s.text(7);
  c.metadata = s.text(8);
  c.active_leaf = s.text(9);
  row.seq = s.integer(10);
  return row;
}

Result<Row> find_row(Transaction& transaction, const Key& key) {
  TRY(Statement statement, transaction.prepare("SELECT " CONVERSATION_COLUMNS
                                               " FROM conversations WHERE tenant = ?1 AND id = ?2"));
  TRY(const bool there, statement.bind(key.tenant).bind(key.id).step());
  if (!there) return no_such("conversation", key.id);
  return read_row(statement);
}

Status update_row(Transaction& transaction, const Row& row) {
  TRY(Statement statement,
      transaction.prepare(
          "UPDATE conversations SET updated_ms = ?1, title = ?2, model = ?3, system_prompt = ?4, "
          "settings = ?5, metadata = ?6, active_leaf = ?7 WHERE seq = ?8"));
  const Conversation& c = row.conversation;
  return statement.bind(c.updated_ms)
      .bind(c.title)
      .bind(c.model)
      .bind(c.system_prompt)
      .bind(c.settings)
      .bind(c.metadata)
      .bind(c.active_leaf)
      .bind(row.seq)
      .run();
}

Result<bool> has_message(Transaction& transaction, std::int64_t conversation, const std::string& id) {
  TRY(Statement statement, transaction.prepare("SELECT 1 FROM messages WHERE conversation = ?1 AND id = ?2"));
  return statement.bind(conversation).bind(id).step();
}

}  // namespace

std::string_view name_of(MessageStatus status) {
  switch (status) {
    case MessageStatus::completed:
      return "completed";
    case MessageStatus::in_progress:
      return "in_progress";
    case MessageStatus::incomplete:
      return "incomplete";
  }
  return "";
}

Status SqliteConversations::add(const Conversation& conversation) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  {
    TRY(Statement statement,
        transaction.prepare("INSERT INTO conversations (id, tenant, created_ms, updated_ms, title, model, "
                            "system_prompt, settings, metadata, active_leaf) "
                            "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, '')"));
    TRY_OK(statement.bind(conversation.id)
               .bind(conversation.tenant)
               .bind(conversation.created_ms)
               .bind(conversation.updated_ms)
               .bind(conversation.title)
               .bind(conversation.model)
               .bind(conversation.system_prompt)
               .bind(conversation.settings)
               .bind(conversation.metadata)
               .run());
  }
  return transaction.commit();
}

Result<Conversation> SqliteConversations::find(const Key& key) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::read));
  TRY(Row row, find_row(transaction, key));
  return std::move(row.conversation);
}

Result<Page<Conversation>> SqliteConversations::list(const std::string& tenant, const PageQuery& query) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::read));
  TRY(const Scan scan,
      make_scan(transaction, "SELECT seq FROM conversations WHERE tenant = ?1 AND id = ?2", tenant, query));
  TRY(Statement statement,
      transaction.prepare(scan.order == Order::ascending
                              ? "SELECT seq FROM conversations WHERE tenant = ?1 AND seq > ?2 AND seq < ?3 "
                                "ORDER BY seq LIMIT ?4"
                              : "SELECT seq FROM conversations WHERE tenant = ?1 AND seq > ?2 AND seq < ?3 "
                                "ORDER BY seq DESC LIMIT ?4"));
  statement.bind(tenant);
  return read_page<Conversation>(transaction, statement, scan,
                                 "SELECT " CONVERSATION_COLUMNS " FROM conversations WHERE seq = ?1",
                                 [](const Statement& s) { return read_row(s).conversation; });
}

Result<Conversation> SqliteConversations::change(const Key& key, const ConversationChange& change) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  TRY(Row row, find_row(transaction, key));
  Conversation& c = row.conversation;
  if (change.active_leaf && !change.active_leaf->empty()) {
    TRY(const bool there, has_message(transaction, row.seq, *change.active_leaf));
    if (!there) return no_such("message", *change.active_leaf);
  }
  c.title = change.title.value_or(c.title);
  c.model = change.model.value_or(c.model);
  c.system_prompt = change.system_prompt.value_or(c.system_prompt);
  c.settings = change.settings.value_or(c.settings);
  c.metadata = change.metadata.value_or(c.metadata);
  c.active_leaf = change.active_leaf.value_or(c.active_leaf);
  c.updated_ms = change.now_ms;
  TRY_OK(update_row(transaction, row));
  TRY_OK(transaction.commit());
  return std::move(row.conversation);
}

Status SqliteConversations::remove(const Key& key) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  {
    TRY(Statement statement, transaction.prepare("DELETE FROM conversations WHERE tenant = ?1 AND id = ?2"));
    TRY_OK(statement.bind(key.tenant).bind(key.id).run());
  }
  if (transaction.num_changes() == 0) return no_such("conversation", key.id);
  return transaction.commit();
}

// The parent must exist and must not be in progress.
Status SqliteConversations::check_parent(Transaction& transaction, std::int64_t conversation,
                                         const std::string& parent_id) const {
  if (parent_id.empty()) return base::ok();
  TRY(Statement statement,
      transaction.prepare("SELECT status FROM messages WHERE conversation = ?1 AND id = ?2"));
  TRY(const bool there, statement.bind(conversation).bind(parent_id).step());
  if (!there) return no_such("message", parent_id);
  if (statement.integer(0) != static_cast<std::int64_t>(MessageStatus::in_progress)) return base::ok();
  return Error{
      .code = ErrorCode::conflict,
      .message = fmt::format("the message '{}' is still being generated; wait for its end, or branch off "
                             "before it with parent_id",
                             parent_id),
      .reason = "conversation_busy"};
}

Status SqliteConversations::append(const Key& key, const Append& append) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  // Messages of dead processes are ended first, since they will never be completed.
  TRY_OK(owner_.bury_dead(transaction));
  TRY(Row row, find_row(transaction, key));
  Conversation& c = row.conversation;
  if (append.expected_leaf && *append.expected_leaf != c.active_leaf)
    return Error{.code = ErrorCode::conflict,
                 .message =
                     "another message was added to this conversation meanwhile; read it again, or name "
                     "the message that yours follows with parent_id",
                 .reason = "conversation_changed"};
  if (!append.messages.empty()) TRY_OK(check_parent(transaction, row.seq, append.messages.front().parent_id));
  const bool activates =
      !append.only_follows || append.messages.empty() || c.active_leaf == append.messages.front().parent_id;
  for (const Message& message : append.messages) {
    const bool running = message.status == MessageStatus::in_progress;
    TRY(Statement statement,
        transaction.prepare(
            "INSERT INTO messages (conversation, owner, id, parent_id, created_ms, status, role, "
            "body, model, finish_reason, prompt_tokens, cached_tokens, output_tokens, cost, "
            "first_token_ms, total_ms, context) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, "
            "?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)"));
    TRY_OK(statement.bind(row.seq)
               .bind(running ? owner_.number() : 0)
               .bind(message.id)
               .bind(message.parent_id)
               .bind(message.created_ms)
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
               .run());
    if (activates) c.active_leaf = message.id;
  }
  if (c.title.empty()) c.title = append.title;
  c.updated_ms = append.now_ms;
  TRY_OK(update_row(transaction, row));
  return transaction.commit();
}

}  // namespace kvasir::store
