#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json.hpp>

#include "api/http/service/route.h"
#include "api/http/service/service.h"

// The handlers of this folder, one file each. The routes table says which path leads to each.
namespace kvasir::api {

RouteGroup responses_routes();

boost::asio::awaitable<void> handle_responses(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_count_response(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_get_response(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_delete_response(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_cancel_response(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_response_items(Service& service, Exchange& exchange);

// The schema of a query, defined in the file of its endpoint.
boost::json::object response_query_schema();

}  // namespace kvasir::api
