#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json.hpp>

#include "api/http/service/route.h"
#include "api/http/service/service.h"

// The handlers of tenants, tiers and keys. Each kind of record has its own file; the room's table of routes
// says which path leads to each handler.
namespace kvasir::api {

RouteGroup admin_routes();

boost::asio::awaitable<void> handle_create_tenant(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_list_tenants(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_tenant(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_change_tenant(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_delete_tenant(Service& service, Exchange& exchange);
boost::json::object tenant_request_schema();
boost::json::object tenant_change_schema();

boost::asio::awaitable<void> handle_list_tiers(Service& service, Exchange& exchange);

boost::asio::awaitable<void> handle_create_key(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_list_keys(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_key(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_revoke_key(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_rotate_key(Service& service, Exchange& exchange);
boost::json::object key_request_schema();

}  // namespace kvasir::api
