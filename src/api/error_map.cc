#include "api/error_map.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/utf8.h"

namespace kvasir::api {

namespace json = boost::json;
using base::Error;
using base::ErrorCode;

namespace {

std::string_view type_of(int status) {
  if (status == 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}

// A path or a name in a message may hold any bytes; JSON may not.
std::string as_utf8(std::string_view bytes) {
  base::Utf8Repair repair;
  std::string text;
  repair.push(bytes, text);
  repair.finish(text);
  return text;
}

json::object shape(std::string_view message, std::string_view type, const std::string& param,
                   const std::string& code) {
  json::object error;
  error["message"] = as_utf8(message);
  error["type"] = type;
  error["param"] = param.empty() ? json::value(nullptr) : json::value(param);
  error["code"] = code.empty() ? json::value(nullptr) : json::value(code);
  json::object body;
  body["error"] = std::move(error);
  return body;
}

}  // namespace

int http_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::unsupported:
      return 400;
    case ErrorCode::not_found:
      return 404;
    case ErrorCode::conflict:
      return 409;
    case ErrorCode::too_large:
      return 413;
    case ErrorCode::exhausted:
      return 429;
    case ErrorCode::unavailable:
      return 503;
    case ErrorCode::timeout:
      return 504;
    case ErrorCode::cancelled:
    case ErrorCode::corrupt:
    case ErrorCode::io:
    case ErrorCode::internal:
      return 500;
  }
  return 500;
}

json::object error_body(const Error& error) {
  const int status = http_status(error.code);
  const bool wrong_input = error.code == ErrorCode::invalid_argument || error.code == ErrorCode::unsupported;
  const std::string message = wrong_input && !error.field.empty()
                                  ? fmt::format("Invalid '{}': {}.", error.field, error.message)
                                  : error.message;
  return shape(message, type_of(status), error.field, error.reason);
}

net::HttpResponse error_response(const Error& error) {
  const int status = http_status(error.code);
  auto response = net::HttpResponse::json(status, base::json_text(error_body(error)));
  if (status == 429 || status == 503) {
    const auto seconds = static_cast<std::int64_t>(std::ceil(std::clamp(error.retry_after_s, 1.0, 3600.0)));
    response.headers.push_back({"Retry-After", std::to_string(seconds)});
  }
  return response;
}

net::HttpResponse refusal_response(const net::RefusedRequest& refused) {
  return net::HttpResponse::json(
      refused.status, base::json_text(shape(refused.message, type_of(refused.status), {}, refused.code)));
}

}  // namespace kvasir::api
