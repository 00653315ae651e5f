#pragma once

#include "api/http/json/object_schema.h"
#include "store/conversations.h"
#include "store/page.h"

namespace kvasir::api {

// The part of a list that a query asks for. Each kind of list uses only some of the fields.
struct ListQuery {
  store::PageQuery page;
  std::string purpose;  // filters files
  std::string tenant;   // filters keys
  std::string branch;   // for messages: the id of any message of the wanted branch
};

// Reads limit, after, before and order.
base::Result<ListQuery> read_list_query(std::string_view query, store::Order default_order);
json::object list_query_schema();
json::object file_query_schema();
json::object message_query_schema();
json::object key_query_schema();

// Returns the answer for the part of a conversation's branch that the query asks for.
base::Result<json::object> message_page(store::Conversations& conversations, const store::Key& key,
                                        const ListQuery& query);

// Makes {"object": "list", "data": ..., "first_id", "last_id", "has_more"}. Every item must have an id.
json::object list_object(json::array items, bool has_more);

}  // namespace kvasir::api
