#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json.hpp>

#include "api/http/route.h"
#include "api/http/service.h"

// One endpoint a file; the room's table of routes says where each is reached.
namespace kvasir::api {

boost::asio::awaitable<void> handle_stream(Service& service, Exchange& exchange);

// Of the bodies and queries whose tables stand in their endpoint's file.
boost::json::object stream_query_schema();

}  // namespace kvasir::api
