#include "api/routes.h"

#include <string>

#include "api/endpoints.h"

namespace kvasir::api {

using base::Error;
using base::ErrorCode;

namespace {

constexpr Route kRoutes[] = {
    {"POST", "/v1/chat/completions", RouteKind::work, handle_chat},
    {"POST", "/v1/completions", RouteKind::work, handle_completions},
    {"GET", "/v1/models", RouteKind::view, handle_list_models},
    {"GET", "/v1/models/", RouteKind::view, handle_model},
    {"POST", "/v1/tokenize", RouteKind::work, handle_tokenize},
    {"GET", "/health/live", RouteKind::view, handle_live},
    {"GET", "/health/ready", RouteKind::view, handle_ready},
    {"GET", "/health/progress", RouteKind::view, handle_progress},
    {"GET", "/metrics", RouteKind::view, handle_metrics},
};

bool matches(const Route& route, std::string_view path) {
  if (!route.path.ends_with('/')) return path == route.path;
  return path.starts_with(route.path) && path.size() > route.path.size();
}

}  // namespace

std::string methods_of(std::string_view path) {
  std::string methods;
  for (const Route& route : kRoutes)
    if (matches(route, path)) methods += (methods.empty() ? "" : ", ") + std::string(route.method);
  return methods;
}

base::Result<const Route*> find_route(std::string_view method, std::string_view path) {
  for (const Route& route : kRoutes)
    if (route.method == method && matches(route, path)) return &route;
  const std::string methods = methods_of(path);
  if (methods.empty())
    return Error{
        ErrorCode::not_found, fmt::format("there is nothing at {} {}", method, path), {}, "unknown_url"};
  return Error{ErrorCode::invalid_argument,
               fmt::format("{} takes {}, not {}", path, methods, method),
               {},
               "method_not_allowed"};
}

}  // namespace kvasir::api
