#pragma once

#include <boost/asio/awaitable.hpp>
#include <string_view>

#include "api/service.h"
#include "base/result.h"

namespace kvasir::api {

// What a request costs the server, which decides whether it may begin while draining.
enum class RouteKind { work, view };

struct Route {
  std::string_view method;
  std::string_view path;  // ends in '/': everything below it
  RouteKind kind;
  boost::asio::awaitable<void> (*handle)(Service& service, Exchange& exchange);
  std::string_view name() const { return path; }  // the endpoint's label in metrics
};

// not_found: no such path. invalid_argument: the path exists with another method; `field` is empty and
// `reason` is "method_not_allowed".
base::Result<const Route*> find_route(std::string_view method, std::string_view path);

// "GET, POST": the methods that a path takes; empty where there is no such path.
std::string methods_of(std::string_view path);

}  // namespace kvasir::api
