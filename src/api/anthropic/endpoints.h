#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json.hpp>

#include "api/http/service/route.h"
#include "api/http/service/service.h"

// The handlers of this folder, one file each. The routes table says which path leads to each.
namespace kvasir::api {

RouteGroup anthropic_routes();

boost::asio::awaitable<void> handle_messages(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_count_tokens(Service& service, Exchange& exchange);

}  // namespace kvasir::api
