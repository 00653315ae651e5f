#include "api/api.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "api/batches/batch_runner.h"
#include "api/http/caller/caller.h"
#include "api/http/caller/cors.h"
#include "api/http/caller/rate_limit_headers.h"
#include "api/http/json/error_map.h"
#include "api/http/record/request_log.h"
#include "api/http/service/request_id.h"
#include "api/http/work/compressed_body.h"
#include "api/machine/queue_depth.h"
#include "api/operations/openapi.h"
#include "api/routes.h"
#include "obs/log.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Error;
using base::ErrorCode;

namespace {

// Returns the client's own id if it is short and printable, so that both sides' logs have the same id.
std::string request_id(std::string_view given) {
  const auto sane = [](char c) { return c > ' ' && c < '\x7f'; };
  if (!given.empty() && given.size() <= 128 && std::all_of(given.begin(), given.end(), sane))
    return std::string(given);
  return make_id("req");
}

// Lines of batches that run at once: enough to fill a small machine's steps, and other requests find room.
constexpr int kMaxBatchInFlight = 8;
// How many accesses may wait for the store. Each takes about a millisecond.
constexpr std::size_t kMaxWaitingForStore = 4096;

// The answer to a path or method without a route: 404, 405, or OPTIONS.
net::HttpResponse without_route(const net::HttpRequest& request, const Error& error, ErrorStyle style,
                                const ServiceOptions& options) {
  const std::string methods = methods_of(request.path);
  if (request.method == "OPTIONS" && !methods.empty()) {
    net::HttpResponse response;
    response.status = 204;
    response.headers.push_back({"Allow", methods + ", OPTIONS"});
    if (is_allowed_origin(options, request.header("origin")))
      add_preflight_headers(request, methods, response);
    return response;
  }
  net::HttpResponse response = error_response(error, style);
  if (error.reason == "method_not_allowed") {
    response.status = 405;
    response.headers.push_back({"Allow", methods});
  }
  return response;
}

void add_headers(const Exchange& exchange, net::HttpResponse& response) {
  response.headers.push_back({"x-request-id", exchange.id});
  if (exchange.errors == ErrorStyle::anthropic) response.headers.push_back({"request-id", exchange.id});
  response.headers.insert(response.headers.end(), exchange.headers.begin(), exchange.headers.end());
  for (net::HttpHeader& header : rate_limit_headers(exchange)) response.headers.push_back(std::move(header));
}

// Answers a body that could not be decompressed. An unknown encoding gets a 415 that lists the known ones.
asio::awaitable<void> reply_wrong_body(Exchange& exchange, Error error) {
  if (error.reason != "unsupported_content_encoding")
    co_return co_await reply_error(exchange, std::move(error));
  note_error(exchange, error);
  net::HttpResponse response = error_response(error, exchange.errors);
  response.status = 415;
  response.headers.push_back({"Accept-Encoding", "gzip"});
  co_await reply(exchange, std::move(response));
}

}  // namespace

Error draining_error(const Service& service) {
  if (service.draining == Service::Draining::to_restart)
    return {.code = ErrorCode::unavailable,
            .message = "an engine failed and the server is being restarted; try again",
            .reason = "engine_failed",
            .retry_after_s = 5};
  return {.code = ErrorCode::unavailable,
          .message = "the server is shutting down; try another, or this one later",
          .reason = "server_draining",
          .retry_after_s = 5};
}

Error answers_overloaded() {
  return {.code = ErrorCode::unavailable,
          .message = "answers that wait for their readers take all the memory that they may; try again",
          .reason = "server_overloaded",
          .retry_after_s = 1};
}

const std::string& Exchange::parameter(std::string_view name) const {
  const auto it = std::ranges::find(path_parameters, name, &PathParameters::value_type::first);
  CHECK(it != path_parameters.end(), "the route has no parameter {}", name);
  return it->second;
}

asio::awaitable<void> reply(Exchange& exchange, net::HttpResponse response) {
  if (!exchange.responder.reserve(response.body.size())) {
    const Error error = answers_overloaded();
    note_error(exchange, error);
    response = error_response(error, exchange.errors);
  }
  exchange.status = response.status;
  add_headers(exchange, response);
  (void)co_await exchange.responder.send(std::move(response));
}

asio::awaitable<base::Result<net::BodyWriter*>> start_body(Exchange& exchange, net::HttpResponse head,
                                                           std::uint64_t num_bytes) {
  exchange.status = head.status;
  add_headers(exchange, head);
  return exchange.responder.start_body(std::move(head), num_bytes);
}

// `error` is taken by value, since the coroutine may begin after the caller's object is gone.
asio::awaitable<void> reply_error(Exchange& exchange, Error error) {
  if (error.code == ErrorCode::cancelled && exchange.responder.disconnected()) co_return;
  note_error(exchange, error);
  net::HttpResponse response = error_response(error, exchange.errors);
  co_await reply(exchange, std::move(response));
}

void note_error(Exchange& exchange, const Error& error) {
  exchange.error = error.reason.empty() ? "failed" : error.reason;
}

Api::Api(ServiceOptions options, Parts parts)
    : metrics_(parts.registry, parts.clock),
      service_{options,
               parts.router,
               parts.admission,
               metrics_,
               parts.clock,
               {Service::Draining::no},
               {1, options.max_waiting_texts},
               {options.num_text_threads, options.max_waiting_texts},
               {1, options.max_waiting_texts},
               {options.resumable, parts.clock},
               parts.store,
               parts.directory,
               {1, kMaxWaitingForStore},
               parts.tools,
               parts.meter,
               {},
               Lobby(options.max_lobby),
               {},
               {parts.store, {}},
               {},
               {},
               base::json_text(openapi_document(route_groups())),
               parts.tracer,
               parts.residence,
               parts.upstreams,
               parts.fleet},
      observations_(observe_service(parts.registry, service_)),
      batches_(std::make_unique<BatchRunner>(service_, kMaxBatchInFlight)) {}

Api::~Api() {
  stop_batches();
  stop_text_work();
  stop_storing();
}

void Api::stop_text_work() {
  service_.reading.stop();
  service_.tokenizing.stop();
  service_.compiling.stop();
}

void Api::start_batches() {
  batches_->start();
}

void Api::stop_batches() {
  batches_->stop();
}

void Api::stop_storing() {
  service_.storing.stop();
  service_.late_writes.stop();
  service_.meter.release_waiters();
}

void Api::drain(Drain why) {
  if (service_.draining == Service::Draining::to_restart) return;
  service_.draining = why == Drain::restart ? Service::Draining::to_restart : Service::Draining::to_stop;
}

int Api::num_busy() const {
  return service_.busy.number();
}

bool Api::wait_idle(base::Duration at_most) {
  return service_.busy.wait_idle(at_most);
}

net::Handler Api::handler() {
  return [this](net::HttpRequest& request, net::Responder& responder) { return handle(request, responder); };
}

asio::awaitable<void> Api::handle(net::HttpRequest& request, net::Responder& responder) {
  Exchange exchange{request, responder, request_id(request.header("x-request-id").value_or("")),
                    tenancy::anonymous()};
  const base::TimePoint started = service_.clock.now();
  base::Result<const Route*> found = find_route(request.method, request.path);
  const Route* const route = found.ok() ? *found : nullptr;
  exchange.trace = begin_trace(service_, request, route);
  exchange.headers = cors_headers(service_.options, request.header("origin"));
  exchange.headers.emplace_back("traceparent", exchange.trace->spans->headers().traceparent);
  exchange.errors = route != nullptr ? route->errors : error_style(request.path);
  if (route != nullptr) {
    co_await handle_route(exchange, *route);
  } else {
    net::HttpResponse response = without_route(request, found.error(), exchange.errors, service_.options);
    if (response.status >= 400) note_error(exchange, found.error());
    co_await reply(exchange, std::move(response));
  }
  finish(exchange, route, service_.clock.now() - started);
}

asio::awaitable<void> Api::handle_route(Exchange& exchange, const Route& route) {
  obs::SpanScope auth(*exchange.trace->spans, "auth");
  // The key is checked again, since it may have been revoked while the body came.
  base::Result<tenancy::Caller> caller = caller_of(service_.directory, exchange.request, route.scope);
  if (!caller.ok()) {
    auth.fail(caller.error().reason);
    auth.end();
    co_return co_await reply_error(exchange, std::move(caller).error());
  }
  exchange.caller = std::move(*caller);
  set_anonymous_tier(service_, exchange.caller);
  auth.end();
  if (route.scope == Scope::tenant) exchange.admission = &service_.admission;
  exchange.endpoint = route.name();
  exchange.path_parameters = path_parameters(route, exchange.request.path);
  exchange.route = &route;
  std::optional<BusyCount::Hold> busy;
  if (route.kind == RouteKind::work) busy.emplace(service_.busy);
  if (service_.drains() && route.kind == RouteKind::work) {
    const Error draining = draining_error(service_);
    note_error(exchange, draining);
    net::HttpResponse refused = error_response(draining, exchange.errors);
    refused.keep_alive = false;
    co_await reply(exchange, std::move(refused));
  } else if (base::Status body = co_await decompress_body(service_, exchange); !body.ok()) {
    co_await reply_wrong_body(exchange, std::move(body).error());
  } else {
    note_body(service_, exchange);
    co_await route.handle(service_, exchange);
  }
}

void Api::finish(Exchange& exchange, const Route* route, base::Duration took) {
  // The client left before anything was sent. Proxies log this as 499, too.
  if (exchange.status == 0) exchange.status = 499;
  metrics_.count_request(route != nullptr ? route->name() : "unknown", exchange.status, took);
  if (!exchange.error.empty() && exchange.status >= 400) metrics_.count_refusal(exchange.error);
  note_end(service_, exchange, route, took);
}

std::optional<net::RefusedRequest> Api::refuse_caller(const tenancy::Directory& directory,
                                                      const net::HttpRequest& head) {
  if (head.method == "OPTIONS") return std::nullopt;  // a browser's preflight request never has a key
  const base::Result<const Route*> route = find_route(head.method, head.path);
  const base::Result<tenancy::Caller> caller =
      caller_of(directory, head, route.ok() ? (*route)->scope : Scope::holder);
  if (caller.ok()) return std::nullopt;
  return net::RefusedRequest{http_status(caller.error()), caller.error().reason, caller.error().message};
}

Api::Refusal Api::refusal(ServiceOptions options) {
  return [options = std::move(options)](const net::RefusedRequest& refused) {
    const std::string id = request_id(refused.request_id);
    net::HttpResponse response = refusal_response(refused, error_style(refused.path));
    response.headers.push_back({"x-request-id", id});
    for (net::HttpHeader& header : cors_headers(options, refused.origin))
      response.headers.push_back(std::move(header));
    const obs::LogLevel level = options.log_requests ? obs::LogLevel::info : obs::LogLevel::debug;
    obs::Log::write(level, "request_refused",
                    {{"id", id}, {"status", refused.status}, {"error", refused.code}});
    return response;
  };
}

}  // namespace kvasir::api
