#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/http/service/service.h"
#include "net/http_message.h"

namespace kvasir::api {

// Headers that say how much of its limits of requests and tokens per minute the caller has left, under the
// names of the endpoint's API. Empty if the caller has no limits.
std::vector<net::HttpHeader> rate_limit_headers(const Exchange& exchange);

// Writes a duration as OpenAI does: "0s", "120ms", "1.5s", "6m0s". Rounds up to milliseconds.
std::string duration_text(std::int64_t duration_us);

// Writes a moment as Anthropic does: "2026-11-18T08:05:40Z". Rounds up to seconds.
std::string moment_text(std::int64_t unix_us);

}  // namespace kvasir::api
