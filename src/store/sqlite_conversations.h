#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "store/conversations.h"
#include "store/sqlite_owner.h"

namespace kvasir::store {

// Both references outlive this object.
class SqliteConversations final : public Conversations {
 public:
  SqliteConversations(SqliteDatabase& database, const SqliteOwner& owner)
      : database_(database), owner_(owner) {}

  base::Status add(const Conversation& conversation) override;
  base::Result<Conversation> find(const Key& key) override;
  base::Result<Page<Conversation>> list(const std::string& tenant, const PageQuery& query) override;
  base::Result<Conversation> change(const Key& key, const ConversationChange& change) override;
  base::Status remove(const Key& key) override;
  base::Status append(const Key& key, const Append& append) override;
  base::Status save(const Key& key, const Message& message) override;
  base::Status withdraw(const Key& key, const std::vector<std::string>& ids) override;
  base::Status rewrite(const Key& key, const std::string& id, const std::string& body) override;
  base::Status take_out(const Key& key, const std::string& id) override;
  base::Result<std::vector<MessageNode>> tree(const Key& key) override;
  base::Result<std::vector<Message>> messages(const Key& key, const std::vector<std::string>& ids) override;
  base::Result<std::vector<Message>> first_messages(const Key& key,
                                                    const std::vector<std::string>& ids) override;

 private:
  // Loads messages up to the one that reaches `max_bytes`.
  base::Result<std::vector<Message>> load(const Key& key, const std::vector<std::string>& ids,
                                          std::size_t max_bytes);
  // not_found or conflict unless the message is there and complete.
  base::Status check_settled(Transaction& transaction, std::int64_t conversation,
                             const std::string& id) const;
  base::Status check_parent(Transaction& transaction, std::int64_t conversation,
                            const std::string& parent_id) const;

  SqliteDatabase& database_;
  const SqliteOwner& owner_;
};

}  // namespace kvasir::store
