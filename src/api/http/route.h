#pragma once

#include <boost/asio/awaitable.hpp>
#include <span>
#include <string_view>

#include "api/http/service.h"
#include "base/json.h"

namespace kvasir::api {

// What a request costs the server, which decides whether it may begin while draining.
enum class RouteKind { work, view };

// Who may ask.
enum class Scope {
  anyone,   // probes: no key is ever needed
  holder,   // of any key
  metrics,  // who scrapes them, and who administers
  tenant,   // whoever may use the models; sees what is its own
  admin,    // who makes tenants and keys; never without a key
};

// One way in which a request may be answered.
struct Answer {
  int status;
  std::string_view description;
  // The name of a schema of the group, or a schema itself; empty: the answer is not JSON.
  std::string_view schema = {};
  std::string_view media = "application/json";
};

// Makes the schema of a body, or of a query, of the tables of fields that read it.
using MakeSchema = boost::json::object (*)();

// One row of the API: where a request goes, and what /openapi.json says of it.
struct Route {
  std::string_view method;
  std::string_view path;  // a segment in braces is a parameter: "/v1/conversations/{id}/messages"
  RouteKind kind;
  boost::asio::awaitable<void> (*handle)(Service& service, Exchange& exchange);
  std::string_view summary;
  std::span<const Answer> answers;  // those that are no error; several may share a status
  MakeSchema body = nullptr;        // null: none is read
  MakeSchema query = nullptr;       // null: none is read
  bool takes_slashes = false;       // the last parameter is all that follows
  std::string_view body_media = "application/json";
  bool body_optional = false;  // nothing is taken for {}
  Scope scope = Scope::tenant;
  ErrorStyle errors = ErrorStyle::openai;  // of an answer with any other status

  std::string_view name() const { return path; }  // the endpoint's label in metrics
};

struct NamedSchema {
  std::string_view name;
  std::string_view schema;
};

// A part of the API: its rows, and the schemas that they name. Names are shared by all groups.
struct RouteGroup {
  std::string_view name;
  std::span<const Route> routes;
  std::span<const NamedSchema> schemas;
};

}  // namespace kvasir::api
