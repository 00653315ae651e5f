#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json.hpp>

#include "api/http/service/route.h"
#include "api/http/service/service.h"

// The handlers of this folder. The routes table says which path leads to each.
namespace kvasir::api {

boost::asio::awaitable<void> handle_stream(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_cancel_stream(Service& service, Exchange& exchange);

// The schema of a query, which its endpoint's file defines.
boost::json::object stream_query_schema();

}  // namespace kvasir::api
