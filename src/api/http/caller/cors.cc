#include "api/http/caller/cors.h"

#include <algorithm>
#include <string>
#include <utility>

namespace kvasir::api {

namespace {

bool takes_anybody(const ServiceOptions& options) {
  return std::ranges::find(options.cors_origins, "*") != options.cors_origins.end();
}

// Whether the text has only header names and commas, and nothing that could end a header.
bool is_list_of_names(std::string_view text) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == ',' || c == ' ';
  };
  return !text.empty() && text.size() <= 2048 && std::ranges::all_of(text, allowed);
}

}  // namespace

bool is_allowed_origin(const ServiceOptions& options, std::optional<std::string_view> origin) {
  if (!origin) return false;
  return takes_anybody(options) ||
         std::ranges::find(options.cors_origins, *origin) != options.cors_origins.end();
}

std::vector<net::HttpHeader> cors_headers(const ServiceOptions& options,
                                          std::optional<std::string_view> origin) {
  std::vector<net::HttpHeader> headers;
  if (options.cors_origins.empty()) return headers;
  // A cache must not give one origin's answer to another.
  if (!takes_anybody(options)) headers.emplace_back("Vary", "Origin");
  if (!is_allowed_origin(options, origin)) return headers;
  headers.emplace_back("Access-Control-Allow-Origin",
                       takes_anybody(options) ? std::string("*") : std::string(*origin));
  headers.emplace_back(
      "Access-Control-Expose-Headers",
      "x-request-id, traceparent, x-stream-id, x-kvasir-context, x-kvasir-model, x-kvasir-route, "
      "x-kvasir-warning, "
      "retry-after, retry-after-ms, x-should-retry, x-ratelimit-limit-requests, "
      "x-ratelimit-limit-tokens, x-ratelimit-remaining-requests, "
      "x-ratelimit-remaining-tokens, x-ratelimit-reset-requests, "
      "x-ratelimit-reset-tokens");
  return headers;
}

void add_preflight_headers(const net::HttpRequest& request, std::string_view methods,
                           net::HttpResponse& response) {
  if (!request.header("access-control-request-method")) return;
  response.headers.emplace_back("Access-Control-Allow-Methods", std::string(methods));
  const std::string_view wanted = request.header("access-control-request-headers").value_or("");
  response.headers.emplace_back("Access-Control-Allow-Headers", is_list_of_names(wanted)
                                                                    ? std::string(wanted)
                                                                    : "authorization, content-type");
  response.headers.emplace_back("Access-Control-Max-Age", "3600");
}

}  // namespace kvasir::api
