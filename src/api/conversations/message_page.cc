#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "api/conversations/conversation_view.h"
#include "api/conversations/message_tree.h"
#include "api/http/json/page_query.h"

namespace kvasir::api {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// Whether the query asks for the page that ends just before a cursor.
bool is_turned(const store::PageQuery& query) {
  return query.after.empty() && !query.before.empty();
}

// Returns the part of a branch's ids that a query asks for.
Result<store::Page<std::string>> page_of(std::vector<std::string> path, const store::PageQuery& query) {
  if (query.order == store::Order::descending) std::reverse(path.begin(), path.end());
  auto begin = path.begin();
  auto end = path.end();
  const auto find = [&](const std::string& id,
                        const char* field) -> Result<std::vector<std::string>::iterator> {
    const auto it = std::find(path.begin(), path.end(), id);
    if (it == path.end())
      return Error{ErrorCode::invalid_argument, fmt::format("there is no '{}' in this list", id), field,
                   "invalid_value"};
    return it;
  };
  if (!query.after.empty()) {
    TRY(const auto cursor, find(query.after, "after"));
    begin = cursor + 1;
  }
  if (!query.before.empty()) {
    TRY(end, find(query.before, "before"));
  }
  store::Page<std::string> page;
  if (begin >= end) return page;
  page.has_more = end - begin > query.limit;
  if (page.has_more && is_turned(query))
    begin = end - query.limit;
  else if (page.has_more)
    end = begin + query.limit;
  page.items.assign(begin, end);
  return page;
}

// Loads the messages of a page. If they are large, it loads only some of them: those nearest to the cursor.
Result<std::vector<store::Message>> load_page(store::Conversations& conversations, const store::Key& key,
                                              std::vector<std::string> ids, const store::PageQuery& query) {
  if (is_turned(query)) std::reverse(ids.begin(), ids.end());
  TRY(std::vector<store::Message> messages, conversations.first_messages(key, ids));
  if (is_turned(query)) std::reverse(messages.begin(), messages.end());
  return messages;
}

}  // namespace

Result<json::object> message_page(store::Conversations& conversations, const store::Key& key,
                                  const ListQuery& query) {
  TRY(const store::Conversation conversation, conversations.find(key));
  TRY(std::vector<store::MessageNode> nodes, conversations.tree(key));
  const MessageTree tree(std::move(nodes));
  std::string leaf = conversation.active_leaf;
  if (!query.branch.empty()) {
    if (!tree.contains(query.branch))
      return Error{ErrorCode::invalid_argument, fmt::format("there is no message '{}'", query.branch),
                   "branch", "invalid_value"};
    leaf = tree.newest_leaf(query.branch);
  }
  TRY(const store::Page<std::string> page, page_of(tree.path_to(leaf), query.page));
  TRY(const std::vector<store::Message> messages, load_page(conversations, key, page.items, query.page));
  json::array items;
  for (const store::Message& message : messages)
    items.push_back(message_object(message, key.id, tree.siblings(message.id)));
  const bool cut = messages.size() < page.items.size();
  json::object list = list_object(std::move(items), page.has_more || cut);
  list["active_message_id"] =
      conversation.active_leaf.empty() ? json::value(nullptr) : json::value(conversation.active_leaf);
  return list;
}

}  // namespace kvasir::api
