#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json.hpp>

#include "api/http/service/route.h"
#include "api/http/service/service.h"

// llama.cpp's own endpoints, one file each. The routes table says which path leads to each.
namespace kvasir::api {

RouteGroup llamacpp_routes();

boost::asio::awaitable<void> handle_infill(Service& service, Exchange& exchange);

// The schema of the body of POST /infill, defined in the file of its endpoint.
boost::json::object infill_request_schema();

}  // namespace kvasir::api
