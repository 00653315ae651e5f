#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "net/http_message.h"
#include "net/http_server.h"

namespace kvasir::api {

int http_status(base::ErrorCode code);

// {"error": {message, type, param, code}}: what OpenAI's SDKs turn into their error classes.
boost::json::object error_body(const base::Error& error);

// The whole answer, with Retry-After where trying again may help.
net::HttpResponse error_response(const base::Error& error);

// The answer to a request that was refused before any endpoint saw it.
net::HttpResponse refusal_response(const net::RefusedRequest& refused);

}  // namespace kvasir::api
