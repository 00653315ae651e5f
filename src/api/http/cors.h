#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "api/http/service.h"
#include "net/http_message.h"

// What a browser has to be told before a page of another site may read an answer.
namespace kvasir::api {

// Whether a page of this origin is one of a site that the settings name. None: no page asks.
bool is_allowed_origin(const ServiceOptions& options, std::optional<std::string_view> origin);

// Of every answer to such a page, errors included.
std::vector<net::HttpHeader> cors_headers(const ServiceOptions& options,
                                          std::optional<std::string_view> origin);

// For the answer to its OPTIONS, where it asks beforehand.
void add_preflight_headers(const net::HttpRequest& request, std::string_view methods,
                           net::HttpResponse& response);

}  // namespace kvasir::api
