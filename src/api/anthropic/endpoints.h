#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json.hpp>

#include "api/http/route.h"
#include "api/http/service.h"

// One endpoint a file; the room's table of routes says where each is reached.
namespace kvasir::api {

RouteGroup anthropic_routes();

boost::asio::awaitable<void> handle_messages(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_count_tokens(Service& service, Exchange& exchange);

}  // namespace kvasir::api
