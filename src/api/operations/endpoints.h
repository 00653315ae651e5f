#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json.hpp>

#include "api/http/service/route.h"
#include "api/http/service/service.h"

// The handlers of this folder, one file each. The routes table says which path leads to each.
namespace kvasir::api {

RouteGroup server_tool_routes();
RouteGroup usage_routes();
RouteGroup operations_routes();

boost::asio::awaitable<void> handle_live(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_ready(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_progress(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_metrics(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_openapi(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_docs(Service& service, Exchange& exchange);

}  // namespace kvasir::api
