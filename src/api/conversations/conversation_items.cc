#include "api/conversations/conversation_items.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "api/conversations/conversation_request.h"
#include "api/conversations/conversation_view.h"
#include "api/conversations/endpoints.h"
#include "api/conversations/message_tree.h"
#include "api/http/json/page_query.h"
#include "api/http/work/answer_by_store.h"
#include "api/items/chat_items.h"
#include "api/items/item_page.h"
#include "api/items/stored_items.h"

// A conversation as OpenAI's clients see it: the items of its active branch.
namespace kvasir::api {

namespace asio = boost::asio;
using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

using Work = StoreWork<json::object>;

// At most this much text is read to find one item, or the beginning of a page.
constexpr std::size_t kMaxBytesRead = std::size_t{32} << 20;
constexpr std::size_t kMaxShownId = 100;

// Calls `visit` for the messages of the active branch, in the given order, until it returns false.
using Visit = std::function<Result<bool>(const store::Message& message)>;
Status visit_branch(store::Conversations& conversations, const store::Key& key, store::Order order,
                    const Visit& visit) {
  TRY(const store::Conversation conversation, conversations.find(key));
  TRY(std::vector<store::MessageNode> nodes, conversations.tree(key));
  std::vector<std::string> left = MessageTree(std::move(nodes)).path_to(conversation.active_leaf);
  if (order == store::Order::descending) std::reverse(left.begin(), left.end());
  std::size_t num_bytes = 0;
  while (!left.empty()) {
    TRY(const std::vector<store::Message> some, conversations.first_messages(key, left));
    left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(some.size()));
    for (const store::Message& message : some) {
      num_bytes += message.body.size();
      TRY(const bool more, visit(message));
      if (!more) return base::ok();
    }
    if (num_bytes > kMaxBytesRead)
      return Error{ErrorCode::too_large,
                   fmt::format("the item stands after more than {} bytes", kMaxBytesRead), "",
                   "history_too_large"};
  }
  return base::ok();
}

Result<json::object> item_page(store::Conversations& conversations, const store::Key& key,
                               const store::PageQuery& query) {
  ItemPage page(query);
  TRY_OK(visit_branch(conversations, key, query.order, [&](const store::Message& message) -> Result<bool> {
    json::array items = items_of_message(message);
    if (query.order == store::Order::descending) std::reverse(items.begin(), items.end());
    for (json::value& item : items) {
      if (page.complete()) return false;
      TRY_OK(page.take(std::move(item)));
    }
    return !page.complete();
  }));
  return page.finish();
}

// An item, and the message that has it.
struct FoundItem {
  json::object item;
  store::Message message;
};

Result<FoundItem> find_item(store::Conversations& conversations, const store::Key& key,
                            const std::string& id) {
  std::optional<FoundItem> found;
  TRY_OK(visit_branch(conversations, key, store::Order::descending,
                      [&](const store::Message& message) -> Result<bool> {
                        for (json::value& item : items_of_message(message))
                          if (has_id(item, id)) found.emplace(std::move(item.get_object()), message);
                        return !found;
                      }));
  if (found) return std::move(*found);
  return Error{ErrorCode::not_found, fmt::format("Item with id '{}' not found.", id.substr(0, kMaxShownId)),
               "", "item_not_found"};
}

}  // namespace

Result<store::Append> items_to_append(const json::array& items, const std::string& parent_id) {
  store::Append append{.now_ms = now_ms()};
  TRY(append.messages, messages_to_store(items, parent_id, "items"));
  append.title = title_of_items(items);
  return append;
}

asio::awaitable<void> handle_add_items(Service& service, Exchange& exchange) {
  StorePlan plan = [&service, key = key_of(exchange)](const std::string& body) -> Result<Work> {
    TRY(const json::object object, parse_object(body, service.options.max_json_depth));
    const json::value* list = object.if_contains("items");
    if (list == nullptr || list->is_null()) return in_field("items", missing("an array of items"));
    auto items = read_new_items(*list);
    if (!items.ok()) return in_field("items", std::move(items).error());
    if (items->empty()) return in_field("items", wrong_value("expected at least one item"));
    TRY_OK(items_to_append(*items, ""));
    return Work([key, items = std::move(*items)](store::Store& store) -> Result<json::object> {
      TRY(const store::Conversation found, store.conversations().find(key));
      TRY(store::Append append, items_to_append(items, found.active_leaf));
      append.expected_leaf = found.active_leaf;
      TRY_OK(store.conversations().append(key, append));
      return list_object(items, false);
    });
  };
  return answer_by_plan(service, exchange, std::move(plan));
}

asio::awaitable<void> handle_list_items(Service& service, Exchange& exchange) {
  const Result<ListQuery> query = read_list_query(exchange.request.query, store::Order::descending);
  if (!query.ok()) co_return co_await reply_error(exchange, query.error());
  Work work = [key = key_of(exchange), page = query->page](store::Store& store) {
    return item_page(store.conversations(), key, page);
  };
  co_await answer_by(service, exchange, std::move(work));
}

asio::awaitable<void> handle_item(Service& service, Exchange& exchange) {
  Work work = [key = key_of(exchange),
               id = exchange.parameter("item_id")](store::Store& store) -> Result<json::object> {
    TRY(FoundItem found, find_item(store.conversations(), key, id));
    return std::move(found.item);
  };
  return answer_by(service, exchange, std::move(work));
}

asio::awaitable<void> handle_delete_item(Service& service, Exchange& exchange) {
  Work work = [key = key_of(exchange),
               id = exchange.parameter("item_id")](store::Store& store) -> Result<json::object> {
    TRY(const FoundItem found, find_item(store.conversations(), key, id));
    TRY(const std::optional<std::string> rest, body_without_item(found.message, id));
    TRY_OK(rest ? store.conversations().rewrite(key, found.message.id, *rest)
                : store.conversations().take_out(key, found.message.id));
    TRY(const store::Conversation conversation, store.conversations().find(key));
    return conversation_object(conversation);
  };
  return answer_by(service, exchange, std::move(work));
}

json::object new_items_schema() {
  return {{"type", "object"},
          {"required", json::array{"items"}},
          {"properties", json::object{{"items", json::object{{"type", "array"},
                                                             {"minItems", 1},
                                                             {"maxItems", 20},
                                                             {"items", json::object{{"type", "object"}}}}}}}};
}

}  // namespace kvasir::api
