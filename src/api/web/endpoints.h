#pragma once

#include <boost/asio/awaitable.hpp>

#include "api/http/service/route.h"
#include "api/http/service/service.h"

// The pages for browsers, which are compiled into the program.
namespace kvasir::api {

RouteGroup web_routes();

boost::asio::awaitable<void> handle_web_page(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_web_asset(Service& service, Exchange& exchange);

}  // namespace kvasir::api
