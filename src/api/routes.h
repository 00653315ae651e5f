#pragma once

#include <span>
#include <string>
#include <string_view>

#include "api/http/service/route.h"
#include "api/http/service/service.h"
#include "base/result.h"

namespace kvasir::api {

// All routes. If two rows match a path, the first one is used.
std::span<const RouteGroup> route_groups();

// not_found: no such path. invalid_argument: the path exists with another method; `field` is empty and
// `reason` is "method_not_allowed".
base::Result<const Route*> find_route(std::string_view method, std::string_view path);

// The form of errors at a path, even if it has no route: the form of the longest route path that it begins
// with. If there is none, Ollama's form below "/api" and OpenAI's elsewhere.
ErrorStyle error_style(std::string_view path);

// The parameters of a path that matches the route.
PathParameters path_parameters(const Route& route, std::string_view path);

// The methods that a path accepts, as "GET, POST"; empty if there is no such path.
std::string methods_of(std::string_view path);

}  // namespace kvasir::api
