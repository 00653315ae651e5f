#pragma once

#include "api/http/json/object_schema.h"
#include "store/conversations.h"
#include "store/page.h"

namespace kvasir::api {

// The part of a list that a query asks for.
struct ListQuery {
  store::PageQuery page;
  std::string purpose;  // of files
  std::string tenant;   // of keys
  std::string branch;   // of messages: one of the branch that is meant
};

// Reads limit, after, before and order.
base::Result<ListQuery> read_list_query(std::string_view query, store::Order default_order);
json::object list_query_schema();
json::object file_query_schema();
json::object message_query_schema();
json::object key_query_schema();

// The answer for the part of a conversation's branch that the query asks for.
base::Result<json::object> message_page(store::Conversations& conversations, const store::Key& key,
                                        const ListQuery& query);

// {"object": "list", "data": ..., "first_id", "last_id", "has_more"}. Every item must have an id.
json::object list_object(json::array items, bool has_more);

}  // namespace kvasir::api
