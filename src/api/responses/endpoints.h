#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json.hpp>

#include "api/http/route.h"
#include "api/http/service.h"

// One endpoint a file; the room's table of routes says where each is reached.
namespace kvasir::api {

RouteGroup responses_routes();

boost::asio::awaitable<void> handle_responses(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_count_response(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_get_response(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_delete_response(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_response_items(Service& service, Exchange& exchange);

// Of the bodies and queries whose tables stand in their endpoint's file.
boost::json::object response_query_schema();

}  // namespace kvasir::api
