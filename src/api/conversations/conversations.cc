#include <memory>
#include <string>
#include <utility>

#include "api/conversations/conversation_items.h"
#include "api/conversations/conversation_request.h"
#include "api/conversations/conversation_view.h"
#include "api/conversations/endpoints.h"
#include "api/conversations/message_tree.h"
#include "api/http/json/page_query.h"
#include "api/http/service/request_id.h"
#include "api/http/work/answer_by_store.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Result;
using base::Status;

namespace {

using Work = StoreWork<json::object>;

Result<ConversationFields> read_body(const Service& service, const std::string& body) {
  if (body.empty()) return ConversationFields();
  TRY(const json::object object, parse_object(body, service.options.max_json_depth));
  return read_conversation_fields(object);
}

}  // namespace

asio::awaitable<void> handle_create_conversation(Service& service, Exchange& exchange) {
  StorePlan plan = [&service, tenant = exchange.caller.tenant](const std::string& body) -> Result<Work> {
    TRY(const ConversationFields fields, read_body(service, body));
    store::Conversation made;
    made.id = make_answer_id("conv_");
    made.tenant = tenant;
    made.created_ms = now_ms();
    made.updated_ms = made.created_ms;
    made.title = fields.title.value_or("");
    made.model = fields.model.value_or("");
    made.system_prompt = fields.system_prompt.value_or("");
    made.settings = merged_settings("{}", fields);
    made.metadata = base::json_text(fields.metadata.value_or(json::object()));
    TRY(store::Append begin, items_to_append(fields.items, ""));
    return Work([made, begin](store::Store& store) -> Result<json::object> {
      const store::Key key{made.tenant, made.id};
      TRY_OK(store.conversations().add(made));
      if (begin.messages.empty()) return conversation_object(made);
      if (Status begun = store.conversations().append(key, begin); !begun.ok()) {
        (void)store.conversations().remove(key);
        return std::move(begun).error();
      }
      TRY(const store::Conversation with_items, store.conversations().find(key));
      return conversation_object(with_items);
    });
  };
  return answer_by_plan(service, exchange, std::move(plan));
}

asio::awaitable<void> handle_conversation(Service& service, Exchange& exchange) {
  Work work = [key = key_of(exchange)](store::Store& store) -> Result<json::object> {
    TRY(const store::Conversation found, store.conversations().find(key));
    return conversation_object(found);
  };
  return answer_by(service, exchange, std::move(work));
}

asio::awaitable<void> handle_change_conversation(Service& service, Exchange& exchange) {
  StorePlan plan = [&service, key = key_of(exchange)](const std::string& body) -> Result<Work> {
    TRY(ConversationFields fields, read_body(service, body));
    if (!fields.items.empty())
      return in_field("items", wrong_value("only allowed where the conversation is made; POST its /items"));
    return Work([key, fields = std::move(fields)](store::Store& store) -> Result<json::object> {
      TRY(const store::Conversation old, store.conversations().find(key));
      store::ConversationChange change;
      change.title = fields.title;
      change.model = fields.model;
      change.system_prompt = fields.system_prompt;
      if (fields.settings || fields.context_policy) change.settings = merged_settings(old.settings, fields);
      if (fields.metadata) change.metadata = base::json_text(*fields.metadata);
      change.active_leaf = fields.active_message_id;
      change.now_ms = now_ms();
      TRY(const store::Conversation changed, store.conversations().change(key, change));
      return conversation_object(changed);
    });
  };
  return answer_by_plan(service, exchange, std::move(plan));
}

asio::awaitable<void> handle_delete_conversation(Service& service, Exchange& exchange) {
  Work work = [key = key_of(exchange)](store::Store& store) -> Result<json::object> {
    TRY_OK(store.conversations().remove(key));
    return json::object{{"id", key.id}, {"object", "conversation.deleted"}, {"deleted", true}};
  };
  return answer_by(service, exchange, std::move(work));
}

asio::awaitable<void> handle_list_conversations(Service& service, Exchange& exchange) {
  Result<ListQuery> query = read_list_query(exchange.request.query, store::Order::descending);
  if (!query.ok()) {
    co_await reply_error(exchange, query.error());
    co_return;
  }
  Work work = [page = query->page,
               tenant = exchange.caller.tenant](store::Store& store) -> Result<json::object> {
    TRY(const store::Page<store::Conversation> found, store.conversations().list(tenant, page));
    json::array items;
    for (const store::Conversation& conversation : found.items)
      items.push_back(conversation_object(conversation));
    return list_object(std::move(items), found.has_more);
  };
  co_await answer_by(service, exchange, std::move(work));
}

asio::awaitable<void> handle_list_messages(Service& service, Exchange& exchange) {
  Result<ListQuery> query = read_list_query(exchange.request.query, store::Order::ascending);
  if (!query.ok()) {
    co_await reply_error(exchange, query.error());
    co_return;
  }
  Work work = [key = key_of(exchange), query = std::move(*query)](store::Store& store) {
    return message_page(store.conversations(), key, query);
  };
  co_await answer_by(service, exchange, std::move(work));
}

asio::awaitable<void> handle_message(Service& service, Exchange& exchange) {
  Work work = [key = key_of(exchange),
               id = exchange.parameter("message_id")](store::Store& store) -> Result<json::object> {
    TRY(std::vector<store::MessageNode> nodes, store.conversations().tree(key));
    TRY(const std::vector<store::Message> found, store.conversations().messages(key, {id}));
    return message_object(found.front(), key.id, MessageTree(std::move(nodes)).siblings(id));
  };
  return answer_by(service, exchange, std::move(work));
}

}  // namespace kvasir::api
