#pragma once

#include <boost/asio/awaitable.hpp>
#include <span>
#include <string_view>

#include "api/http/service/service.h"
#include "base/json.h"

namespace kvasir::api {

// Whether a route does work, which is refused while the server drains, or only shows something.
enum class RouteKind { work, view };

// Who may call a route.
enum class Scope {
  anyone,   // probes: no key is ever needed
  holder,   // callers with any valid key
  metrics,  // clients that scrape the metrics, and administrators
  tenant,   // callers that may use the models; each sees only its own tenant's things
  machine,  // administrators, or this machine itself if no key is needed
  admin,    // administrators, who make tenants and keys; a key is always needed
};

// One possible answer of a route.
struct Answer {
  int status;
  std::string_view description;
  // The name of one of the group's schemas, or a schema itself. Empty: the answer is not JSON.
  std::string_view schema = {};
  std::string_view media = "application/json";  // empty: the answer has no body
};

// Makes the schema of a body or query from the tables that read it.
using MakeSchema = boost::json::object (*)();

// One row of the API: which requests it serves, and what /openapi.json says about them.
struct Route {
  std::string_view method;
  std::string_view path;  // a segment in braces is a parameter: "/v1/conversations/{id}/messages"
  RouteKind kind;
  boost::asio::awaitable<void> (*handle)(Service& service, Exchange& exchange);
  std::string_view summary;
  std::span<const Answer> answers;  // answers that are not errors; several may have the same status
  MakeSchema body = nullptr;        // null: no body is read
  MakeSchema query = nullptr;       // null: no query is read
  bool takes_slashes = false;       // the last parameter takes the rest of the path
  std::string_view body_media = "application/json";
  bool body_optional = false;  // an empty body means {}
  Scope scope = Scope::tenant;
  ErrorStyle errors = ErrorStyle::openai;  // form of all answers that are errors

  std::string_view name() const { return path; }  // also the endpoint's label in metrics
};

struct NamedSchema {
  std::string_view name;
  std::string_view schema;
};

// A part of the API: its rows, and the schemas that the rows name. Schema names are unique across all groups.
struct RouteGroup {
  std::string_view name;
  std::span<const Route> routes;
  std::span<const NamedSchema> schemas;
};

}  // namespace kvasir::api
