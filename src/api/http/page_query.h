#pragma once

#include "api/http/object_schema.h"
#include "store/conversations.h"
#include "store/page.h"

namespace kvasir::api {

// Which part of a list a query asks for.
struct ListQuery {
  store::PageQuery page;
  std::string purpose;  // of files
  std::string tenant;   // of keys
  std::string branch;   // of messages: one of the branch that is meant
};

// limit, after, before and order; the default order is as given.
base::Result<ListQuery> read_list_query(std::string_view query, store::Order default_order);
json::object list_query_schema();
json::object file_query_schema();
json::object message_query_schema();
json::object key_query_schema();

// The part of a conversation's branch that the query asks for, as the answer.
base::Result<json::object> message_page(store::Conversations& conversations, const store::Key& key,
                                        const ListQuery& query);

// {"object": "list", "data": ..., "first_id", "last_id", "has_more"}; the items have ids.
json::object list_object(json::array items, bool has_more);

}  // namespace kvasir::api
