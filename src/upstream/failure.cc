#include "upstream/failure.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"

namespace kvasir::upstream {

namespace json = boost::json;
using base::Error;
using base::ErrorCode;
using Says = Failure::Says;

namespace {

constexpr std::size_t kMaxWords = 2000;  // bytes kept of an upstream's error
constexpr double kMaxPauseS = 3600;

Error upstream_failed(const std::string& label, std::string_view what) {
  return {.code = ErrorCode::unavailable,
          .message = fmt::format("the upstream '{}' {}", label, what),
          .reason = std::string(kUpstreamFailed)};
}

// The contents of an error's body.
struct Words {
  std::string message;
  std::string field;
  std::string code;
};

std::string text_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::string bounded(std::string_view bytes) {
  base::Utf8Repair repair;
  std::string text;
  repair.push(bytes.substr(0, kMaxWords), text);
  repair.finish(text);
  return text;
}

Words words_of(std::string_view body) {
  Words words;
  const auto parsed = base::parse_json(body);
  if (!parsed.ok() || !parsed->is_object()) return {.message = bounded(body)};
  const json::object* error = &parsed->get_object();
  if (const json::value* inner = error->if_contains("error")) {
    if (inner->is_string()) return {.message = bounded(inner->get_string())};
    if (inner->is_object()) error = &inner->get_object();
  }
  words.message = bounded(text_of(*error, "message"));
  words.field = bounded(text_of(*error, "param"));
  words.code = bounded(text_of(*error, "code"));
  if (words.message.empty()) words.message = bounded(body);
  return words;
}

double seconds_of(std::string_view header) {
  double seconds = 0;
  const auto read = std::from_chars(header.data(), header.data() + header.size(), seconds);
  if (read.ec != std::errc() || !(seconds >= 0)) return 0;  // a date is not understood either
  return std::min(seconds, kMaxPauseS);
}

base::Duration duration_of(double seconds) {
  return std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(seconds));
}

Failure busy(const std::string& label, int status, double pause_s) {
  Failure failure;
  failure.says = Says::busy;
  failure.pause = duration_of(pause_s);
  failure.error = {.code = status == 429 ? ErrorCode::exhausted : ErrorCode::unavailable,
                   .message = fmt::format("the upstream '{}' is busy; try again", label),
                   .reason = "upstream_busy",
                   .retry_after_s = std::max(pause_s, 1.0)};
  return failure;
}

// A mistake of the client, with the upstream's message.
Failure client_error(const std::string& label, int status, Words words) {
  Failure failure;
  failure.says = Says::nothing;
  failure.may_retry = false;
  failure.error.code = status == 413 ? ErrorCode::too_large : ErrorCode::invalid_argument;
  failure.error.message = fmt::format("the upstream '{}' refuses the request: {}", label, words.message);
  failure.error.reason = words.code;
  failure.error.field.clear();  // the message names the field already
  return failure;
}

}  // namespace

Failure failure_of_status(const std::string& label, int status, std::string_view body,
                          std::string_view retry_after) {
  Words words = words_of(body);
  std::string detail = fmt::format("status {}: {}", status, words.message);
  Failure failure;
  if (status == 429 || status == 503 || status == 529) {
    failure = busy(label, status, seconds_of(retry_after));
  } else if (status == 401 || status == 403) {
    failure.error = upstream_failed(label, "does not let this server in");
    failure.says = Says::useless;
    detail = fmt::format("status {}", status);  // the upstream's message may hold a part of the key
  } else if (status == 404 || status == 405) {
    failure.error = upstream_failed(label, "does not have the model, or not this endpoint");
    failure.says = Says::useless;
  } else if (status >= 400 && status < 500 && status != 408) {
    failure = client_error(label, status, std::move(words));
  } else if (status >= 300 && status < 400) {
    failure.error =
        upstream_failed(label, fmt::format("redirects (status {}), which is not followed", status));
    failure.says = Says::useless;
  } else {
    failure.error = upstream_failed(label, fmt::format("answered with status {}", status));
  }
  failure.detail = std::move(detail);
  return failure;
}

Failure failure_of_exchange(const std::string& label, const Error& error) {
  Failure failure;
  const bool unreachable = error.code == ErrorCode::unavailable;
  failure.error = upstream_failed(label, unreachable ? "cannot be reached" : "broke off its answer");
  if (error.code == ErrorCode::timeout) {
    failure.error.code = ErrorCode::timeout;
    failure.error.message = fmt::format("the upstream '{}' does not answer", label);
  }
  failure.detail = error.message;
  return failure;
}

Failure failure_of_answer(const std::string& label, std::string what) {
  Failure failure;
  failure.error = upstream_failed(label, "sent something that is not an answer: " + bounded(what));
  failure.detail = std::move(what);
  return failure;
}

Failure failure_of_silence(const std::string& label, double seconds) {
  Failure failure;
  failure.error = {.code = ErrorCode::timeout,
                   .message = fmt::format("the upstream '{}' sent nothing for {:g} s", label, seconds),
                   .reason = "upstream_timeout"};
  failure.detail = failure.error.message;
  return failure;
}

}  // namespace kvasir::upstream
