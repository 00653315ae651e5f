#include "api/http/caller/rate_limit_headers.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <string_view>

namespace kvasir::api {

namespace {

void add_openai(std::string_view unit, const tenancy::Standing& standing, std::vector<net::HttpHeader>& out) {
  if (standing.limit == 0) return;
  out.emplace_back(fmt::format("x-ratelimit-limit-{}", unit), std::to_string(standing.limit));
  out.emplace_back(fmt::format("x-ratelimit-remaining-{}", unit), std::to_string(standing.left));
  out.emplace_back(fmt::format("x-ratelimit-reset-{}", unit), duration_text(standing.full_in_us));
}

void add_anthropic(std::string_view unit, const tenancy::Standing& standing,
                   std::vector<net::HttpHeader>& out) {
  if (standing.limit == 0) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::int64_t now_us = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  out.emplace_back(fmt::format("anthropic-ratelimit-{}-limit", unit), std::to_string(standing.limit));
  out.emplace_back(fmt::format("anthropic-ratelimit-{}-remaining", unit), std::to_string(standing.left));
  out.emplace_back(fmt::format("anthropic-ratelimit-{}-reset", unit),
                   moment_text(now_us + standing.full_in_us));
}

}  // namespace

std::string duration_text(std::int64_t duration_us) {
  const std::int64_t ms = (duration_us + 999) / 1000;
  if (ms == 0) return "0s";
  if (ms < 1000) return fmt::format("{}ms", ms);
  const std::int64_t minutes = ms / 60'000;
  const std::string seconds = fmt::format("{}s", static_cast<double>(ms % 60'000) / 1000);
  return minutes == 0 ? seconds : fmt::format("{}m{}", minutes, seconds);
}

std::string moment_text(std::int64_t unix_us) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(static_cast<std::time_t>((unix_us + 999'999) / 1'000'000)));
}

std::vector<net::HttpHeader> rate_limit_headers(const Exchange& exchange) {
  std::vector<net::HttpHeader> headers;
  if (exchange.admission == nullptr) return headers;
  const tenancy::Standings standings = exchange.admission->standings(exchange.caller);
  const auto add = exchange.errors == ErrorStyle::anthropic ? add_anthropic : add_openai;
  add("requests", standings.requests, headers);
  add("tokens", standings.tokens, headers);
  return headers;
}

}  // namespace kvasir::api
