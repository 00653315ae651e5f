#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "api/http/service/service.h"
#include "net/http_message.h"

// The headers by which a browser lets a page of another site read an answer.
namespace kvasir::api {

// Whether the settings allow pages of this origin. If the origin is absent, no page of another site asks.
bool is_allowed_origin(const ServiceOptions& options, std::optional<std::string_view> origin);

// Headers for every answer to a page of another site, errors included.
std::vector<net::HttpHeader> cors_headers(const ServiceOptions& options,
                                          std::optional<std::string_view> origin);

// Adds the headers that answer a preflight OPTIONS request.
void add_preflight_headers(const net::HttpRequest& request, std::string_view methods,
                           net::HttpResponse& response);

}  // namespace kvasir::api
