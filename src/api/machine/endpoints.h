#pragma once

#include <boost/asio/awaitable.hpp>

#include "api/http/service/route.h"
#include "api/http/service/service.h"

// Endpoints that show what the whole machine does at this moment, for the people who run it.
namespace kvasir::api {

RouteGroup machine_routes();

boost::asio::awaitable<void> handle_machine_events(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_cancel_request(Service& service, Exchange& exchange);

}  // namespace kvasir::api
