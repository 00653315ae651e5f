#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json.hpp>

#include "api/http/service/route.h"
#include "api/http/service/service.h"

// The handlers of this folder, one file each. The routes table says which path leads to each.
namespace kvasir::api {

RouteGroup conversation_routes();

boost::asio::awaitable<void> handle_create_conversation(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_list_conversations(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_conversation(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_change_conversation(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_delete_conversation(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_list_messages(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_message(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_add_message(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_edit_message(Service& service, Exchange& exchange);

boost::asio::awaitable<void> handle_add_items(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_list_items(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_item(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_delete_item(Service& service, Exchange& exchange);

// The schema of the body of POST /v1/conversations/{id}/items, defined in the file of its endpoint.
boost::json::object new_items_schema();

}  // namespace kvasir::api
