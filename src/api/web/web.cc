#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "api/http/work/compressed_body.h"
#include "api/web/endpoints.h"
#include "api/web/web_assets.h"

namespace kvasir::api {

namespace asio = boost::asio;

namespace {

// The page may load from and call only this server, and no other page may frame it.
constexpr std::string_view kContentPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

constexpr std::string_view kPageName = "index.html";

bool has_it(const net::HttpRequest& request, std::string_view etag) {
  const auto known = request.header("if-none-match");
  return known && (known->find(etag) != std::string_view::npos || *known == "*");
}

net::HttpResponse answer_with(const net::HttpRequest& request, const WebAsset& asset) {
  net::HttpResponse response;
  // The name of an asset changes with its content; the page's name does not.
  const bool is_page = asset.name == kPageName;
  response.headers.emplace_back("ETag", std::string(asset.etag));
  response.headers.emplace_back("Cache-Control",
                                is_page ? "no-cache" : "public, max-age=31536000, immutable");
  response.headers.emplace_back("Vary", is_page ? "Accept, Accept-Encoding" : "Accept-Encoding");
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  response.headers.emplace_back("Content-Security-Policy", std::string(kContentPolicy));
  if (has_it(request, asset.etag)) {
    response.status = 304;
    return response;
  }
  response.content_type = asset.content_type;
  const bool zipped = takes_gzip(request);
  if (zipped) response.headers.emplace_back("Content-Encoding", "gzip");
  response.body = zipped ? asset.gzipped : asset.plain;
  return response;
}

// Browsers name HTML in Accept. Programs that look for Ollama at this path accept anything, or JSON.
bool wants_page(const net::HttpRequest& request) {
  const auto accept = request.header("accept");
  return accept && accept->find("text/html") != std::string_view::npos;
}

asio::awaitable<void> reply_with(Exchange& exchange, std::string_view name) {
  const std::span<const WebAsset> assets = web_assets();
  const auto found = std::ranges::find(assets, name, &WebAsset::name);
  if (found == assets.end()) {
    base::Error missing = base::error(base::ErrorCode::not_found, "there is no file '{}'", name);
    missing.reason = "not_found";
    co_await reply_error(exchange, std::move(missing));
    co_return;
  }
  net::HttpResponse response = answer_with(exchange.request, *found);
  co_await reply(exchange, std::move(response));
}

}  // namespace

asio::awaitable<void> handle_web_page(Service&, Exchange& exchange) {
  if (wants_page(exchange.request)) co_return co_await reply_with(exchange, kPageName);
  net::HttpResponse response(200, "text/plain; charset=utf-8", "Ollama is running");
  response.headers.emplace_back("Vary", "Accept");
  co_await reply(exchange, std::move(response));
}

asio::awaitable<void> handle_web_asset(Service&, Exchange& exchange) {
  return reply_with(exchange, exchange.parameter("name"));
}

}  // namespace kvasir::api
