#include "api/routes.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/admin/endpoints.h"
#include "api/anthropic/endpoints.h"
#include "api/batches/endpoints.h"
#include "api/conversations/endpoints.h"
#include "api/llamacpp/endpoints.h"
#include "api/machine/endpoints.h"
#include "api/ollama/endpoints.h"
#include "api/openai/endpoints.h"
#include "api/operations/endpoints.h"
#include "api/ranking/endpoints.h"
#include "api/responses/endpoints.h"
#include "api/web/endpoints.h"
#include "base/utf8.h"

namespace kvasir::api {

using base::Error;
using base::ErrorCode;

namespace {

bool is_parameter(std::string_view segment) {
  return segment.starts_with('{');
}

// Removes the first segment and its slash from a path that begins with a slash.
std::string_view take_segment(std::string_view& path) {
  const std::size_t end = path.find('/', 1);
  const std::string_view segment = path.substr(1, end == path.npos ? path.npos : end - 1);
  path = end == path.npos ? std::string_view() : path.substr(end);
  return segment;
}

// Whether the path matches. Calls `take` with the name and value of each parameter; values are never empty
// and are valid UTF-8.
template <class Take>
bool match(const Route& route, std::string_view path, Take take) {
  std::string_view pattern = route.path;
  while (!pattern.empty()) {
    if (!path.starts_with('/')) return false;
    const std::string_view wanted = take_segment(pattern);
    if (!is_parameter(wanted)) {
      if (take_segment(path) != wanted) return false;
      continue;
    }
    const bool rest = route.takes_slashes && pattern.empty();
    const std::string_view value = rest ? path.substr(1) : take_segment(path);
    if (rest) path = {};
    if (value.empty() || base::utf8_valid_prefix(value) != value.size()) return false;
    take(wanted.substr(1, wanted.size() - 2), value);
  }
  return path.empty();
}

// Endpoints that clients also call without "/v1", since their base URL lacks it.
constexpr std::array<std::string_view, 6> kShortPaths{"/chat/completions", "/completions", "/embeddings",
                                                      "/models",           "/responses",   "/messages"};

bool is_at_or_below(std::string_view path, std::string_view root) {
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

// The path as the routes spell it: without a slash at the end, and with the "/v1" that a client left out.
std::string canonical(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const auto leads_there = [&](std::string_view root) { return is_at_or_below(path, root); };
  return (std::ranges::any_of(kShortPaths, leads_there) ? "/v1" : "") + std::string(path);
}

using Routes = std::vector<const Route*>;

// All routes by the path that they spell.
const std::unordered_map<std::string_view, Routes>& routes_by_path() {
  static const auto kRoutes = [] {
    std::unordered_map<std::string_view, Routes> routes;
    for (const RouteGroup& group : route_groups())
      for (const Route& route : group.routes) routes[route.path].push_back(&route);
    return routes;
  }();
  return kRoutes;
}

Routes routes_with_parameters(std::string_view path) {
  Routes taken;
  for (const RouteGroup& group : route_groups())
    for (const Route& route : group.routes)
      if (match(route, path, [](std::string_view, std::string_view) {})) taken.push_back(&route);
  return taken;
}

// The routes that spell the path out. If there are none, the routes that match it with a parameter.
Routes routes_of(std::string_view path) {
  const auto named = routes_by_path().find(path);
  return named != routes_by_path().end() ? named->second : routes_with_parameters(path);
}

}  // namespace

std::span<const RouteGroup> route_groups() {
  static const RouteGroup kGroups[] = {
      openai_routes(), ranking_routes(),      llamacpp_routes(),   responses_routes(),   anthropic_routes(),
      ollama_routes(), conversation_routes(), file_routes(),       server_tool_routes(), admin_routes(),
      usage_routes(),  machine_routes(),      operations_routes(), web_routes()};
  return kGroups;
}

PathParameters path_parameters(const Route& route, std::string_view path) {
  PathParameters parameters;
  match(route, canonical(path),
        [&](std::string_view name, std::string_view value) { parameters.emplace_back(name, value); });
  return parameters;
}

ErrorStyle error_style(std::string_view given) {
  const std::string path = canonical(given);
  const Route* nearest = nullptr;
  for (const RouteGroup& group : route_groups())
    for (const Route& route : group.routes) {
      if (is_at_or_below(path, route.path) &&
          (nearest == nullptr || route.path.size() > nearest->path.size()))
        nearest = &route;
    }
  if (nearest != nullptr) return nearest->errors;
  return is_at_or_below(path, "/api") ? ErrorStyle::ollama : ErrorStyle::openai;
}

std::string methods_of(std::string_view path) {
  std::string methods;
  for (const Route* route : routes_of(canonical(path)))
    methods += (methods.empty() ? "" : ", ") + std::string(route->method);
  return methods;
}

base::Result<const Route*> find_route(std::string_view method, std::string_view path) {
  for (const Route* route : routes_of(canonical(path)))
    if (route->method == method) return route;
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
