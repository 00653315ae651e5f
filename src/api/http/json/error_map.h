#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "net/http_message.h"
#include "net/http_server.h"

namespace kvasir::api {

// The JSON form of errors, which a client's SDK maps to its error classes.
enum class ErrorStyle : std::uint8_t {
  openai,     // {"error": {message, type, param, code}}
  responses,  // like openai, but in a stream {"type": "error", message, param, code}
  anthropic,  // {"type": "error", "error": {type, message}}
  ollama,     // {"error": message}, also as the last line of a stream
};

int http_status(const base::Error& error);

// The error in OpenAI's form.
boost::json::object error_body(const base::Error& error);

// Makes the whole answer, with Retry-After if a retry may help.
net::HttpResponse error_response(const base::Error& error, ErrorStyle style = ErrorStyle::openai);

// Makes the last event, or line, of a stream that fails after its beginning.
std::string error_event(const base::Error& error, ErrorStyle style);

// Makes the answer to a request that was refused before any endpoint saw it.
net::HttpResponse refusal_response(const net::RefusedRequest& refused, ErrorStyle style);

}  // namespace kvasir::api
