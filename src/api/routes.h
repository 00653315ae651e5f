#pragma once

#include <span>
#include <string>
#include <string_view>

#include "api/http/route.h"
#include "api/http/service.h"
#include "base/result.h"

namespace kvasir::api {

// All of them; where two rows match, the first one is meant.
std::span<const RouteGroup> route_groups();

// not_found: no such path. invalid_argument: the path exists with another method; `field` is empty and
// `reason` is "method_not_allowed".
base::Result<const Route*> find_route(std::string_view method, std::string_view path);

// How an error at a path is written, whether or not there is a route: as those of the rows that lead there
// are.
ErrorStyle error_style(std::string_view path);

// The parameters of a path that the route matches.
PathParameters path_parameters(const Route& route, std::string_view path);

// "GET, POST": the methods that a path takes; empty where there is no such path.
std::string methods_of(std::string_view path);

}  // namespace kvasir::api
