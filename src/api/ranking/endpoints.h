#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json.hpp>

#include "api/http/service/route.h"
#include "api/http/service/service.h"

// The handlers of this folder, one file each. The routes table says which path leads to each.
namespace kvasir::api {

RouteGroup ranking_routes();

boost::asio::awaitable<void> handle_rerank(Service& service, Exchange& exchange);
boost::asio::awaitable<void> handle_score(Service& service, Exchange& exchange);

// The schemas of bodies. Each is defined in the file of its endpoint.
boost::json::object rerank_request_schema();
boost::json::object score_request_schema();

}  // namespace kvasir::api
