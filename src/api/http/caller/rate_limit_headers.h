#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/http/service/service.h"
#include "net/http_message.h"

namespace kvasir::api {

// How the caller stands with its limits of requests and tokens per minute, in the words of the endpoint's
// API. Empty if it has none.
std::vector<net::HttpHeader> rate_limit_headers(const Exchange& exchange);

// As OpenAI writes durations: "0s", "120ms", "1.5s", "6m0s". Rounded up to milliseconds.
std::string duration_text(std::int64_t duration_us);

// As Anthropic writes moments: "2026-11-18T08:05:40Z". Rounded up to seconds.
std::string moment_text(std::int64_t unix_us);

}  // namespace kvasir::api
