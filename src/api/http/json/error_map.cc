#include "api/http/json/error_map.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/utf8.h"
#include "upstream/failure.h"

namespace kvasir::api {

namespace json = boost::json;
using base::Error;
using base::ErrorCode;

namespace {

std::string_view type_of(int status) {
  if (status == 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}

// Repairs a text for JSON, which needs UTF-8. A path or a name in a message may hold any bytes.
std::string as_utf8(std::string_view bytes) {
  base::Utf8Repair repair;
  std::string text;
  repair.push(bytes, text);
  repair.finish(text);
  return text;
}

std::string message_of(const Error& error) {
  const bool wrong_input = error.code == ErrorCode::invalid_argument || error.code == ErrorCode::unsupported;
  if (!wrong_input || error.field.empty()) return error.message;
  return fmt::format("Invalid '{}': {}.", error.field, error.message);
}

// Anthropic's status for an overloaded server.
constexpr int kOverloaded = 529;

std::string_view anthropic_type_of(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
      return "overloaded_error";
    case 504:
      return "timeout_error";
    default:
      return status < 500 ? "invalid_request_error" : "api_error";
  }
}

json::object anthropic_shape(int status, std::string_view message) {
  json::object inner;
  inner["type"] = anthropic_type_of(status);
  inner["message"] = as_utf8(message);
  return {{"type", "error"}, {"error", std::move(inner)}};
}

// Anthropic's clients react to this reason: they send the whole conversation.
constexpr std::string_view kThreadReason = "thread_unsupported_request";

json::object anthropic_body(const Error& error) {
  json::object body = anthropic_shape(http_status(error), message_of(error));
  if (error.reason == kThreadReason)
    body["error"].get_object()["details"] = {{"error_code", kThreadReason},
                                             {"unsupported", json::array{error.field}}};
  return body;
}

std::string ollama_text(std::string_view message) {
  return base::json_text(json::object{{"error", as_utf8(message)}});
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

// Adds the header that a 401 must have (RFC 9110).
net::HttpResponse with_challenge(net::HttpResponse response) {
  if (response.status == 401) response.headers.push_back({"WWW-Authenticate", "Bearer"});
  return response;
}

constexpr std::string_view kQuotaReason = "insufficient_quota";
constexpr double kMaxRetryAfterS = 31.0 * 24 * 3600;

// Says whether to try again. OpenAI's clients try again twice after any 429 unless the answer forbids it.
void add_retry_headers(const Error& error, net::HttpResponse& response) {
  if (error.retry_after_s < 0 || error.reason == kQuotaReason)
    response.headers.push_back({"x-should-retry", "false"});
  if (error.retry_after_s < 0) return;
  const double wait_s = std::min(error.retry_after_s, kMaxRetryAfterS);
  const auto seconds = static_cast<std::int64_t>(std::ceil(std::max(wait_s, 1.0)));
  response.headers.push_back({"Retry-After", std::to_string(seconds)});
  if (wait_s == 0) return;
  const auto ms = static_cast<std::int64_t>(std::ceil(wait_s * 1000));
  response.headers.push_back({"retry-after-ms", std::to_string(ms)});
}

}  // namespace

std::string error_event(const Error& error, ErrorStyle style) {
  if (style == ErrorStyle::ollama) return ollama_text(message_of(error)) + "\n";
  if (style == ErrorStyle::openai) return "data: " + base::json_text(error_body(error)) + "\n\n";
  json::object body = anthropic_body(error);
  if (style == ErrorStyle::responses) {
    body = error_body(error)["error"].as_object();
    body["type"] = "error";
    body["sequence_number"] = 0;
  }
  return "event: error\ndata: " + base::json_text(body) + "\n\n";
}

int http_status(const Error& error) {
  if (error.reason == upstream::kUpstreamFailed && error.code == ErrorCode::unavailable) return 502;
  switch (error.code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::unsupported:
      return 400;
    case ErrorCode::unauthenticated:
      return 401;
    case ErrorCode::forbidden:
      return 403;
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
      return 499;  // the client left; proxies log the same number
    case ErrorCode::corrupt:
    case ErrorCode::io:
    case ErrorCode::internal:
      return 500;
  }
  return 500;
}

json::object error_body(const Error& error) {
  // For this reason alone, OpenAI's errors have a type that equals the code.
  const std::string_view type = error.reason == kQuotaReason ? kQuotaReason : type_of(http_status(error));
  return shape(message_of(error), type, error.field, error.reason);
}

net::HttpResponse error_response(const Error& error, ErrorStyle style) {
  int status = http_status(error);
  std::string body;
  if (style == ErrorStyle::anthropic) {
    if (status == 503) status = kOverloaded;
    body = base::json_text(anthropic_body(error));
  } else if (style == ErrorStyle::ollama) {
    body = ollama_text(message_of(error));
  } else {
    body = base::json_text(error_body(error));
  }
  auto response = with_challenge(net::HttpResponse::json(status, std::move(body)));
  if (status == 429 || status == 503 || status == kOverloaded) add_retry_headers(error, response);
  return response;
}

net::HttpResponse refusal_response(const net::RefusedRequest& refused, ErrorStyle style) {
  if (style == ErrorStyle::anthropic)
    return with_challenge(net::HttpResponse::json(
        refused.status, base::json_text(anthropic_shape(refused.status, refused.message))));
  if (style == ErrorStyle::ollama)
    return with_challenge(net::HttpResponse::json(refused.status, ollama_text(refused.message)));
  return with_challenge(net::HttpResponse::json(
      refused.status, base::json_text(shape(refused.message, type_of(refused.status), {}, refused.code))));
}

}  // namespace kvasir::api
