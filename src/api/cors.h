#pragma once

#include <string_view>

#include "api/service.h"
#include "net/http_message.h"

// What a browser has to be told before a page of another site may read an answer.
namespace kvasir::api {

// Whether the request comes from a page of a site that the settings name.
bool is_allowed_origin(const ServiceOptions& options, const net::HttpRequest& request);

// For every answer to such a page, errors included.
void add_cors_headers(const ServiceOptions& options, Exchange& exchange);

// For the answer to its OPTIONS, where it asks beforehand.
void add_preflight_headers(const net::HttpRequest& request, std::string_view methods,
                           net::HttpResponse& response);

}  // namespace kvasir::api
