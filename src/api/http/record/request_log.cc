#include "api/http/record/request_log.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "obs/log.h"

namespace kvasir::api {
namespace {

using obs::Trace;

// At most this much of a body goes into a log line or a trace.
constexpr std::size_t kMaxBodyBytes = 16 * 1024;
constexpr int kClientLeft = 499;
constexpr std::size_t kMostFields = 16;

// Whether the route uses the server, rather than watches it.
bool is_use(const Route* route) {
  return route == nullptr || route->scope == Scope::tenant || route->scope == Scope::admin ||
         route->scope == Scope::holder;
}

// A stream that fails after its beginning has the status 200.
bool is_broken(const Exchange& exchange) {
  return !exchange.error.empty() && (exchange.status >= 500 || exchange.status == 200);
}

double whole_us(base::Duration took) {
  return std::round(base::seconds(took) * 1e6) / 1e3;
}

// A probe that gets "not ready yet" is not an error.
obs::LogLevel level_of(const Service& service, const Exchange& exchange, const Route* route) {
  if (is_broken(exchange)) return obs::LogLevel::warn;
  return is_use(route) && service.options.log_requests ? obs::LogLevel::info : obs::LogLevel::debug;
}

void log_request(const Service& service, const Exchange& exchange, const Route* route, base::Duration took) {
  const obs::LogLevel level = level_of(service, exchange, route);
  if (!obs::Log::enabled(level)) return;
  const RequestTrace& trace = *exchange.trace;
  std::vector<obs::LogField> fields;
  fields.reserve(kMostFields);
  fields.emplace_back("id", exchange.id);
  fields.emplace_back("trace_id", trace.spans->id());
  fields.emplace_back("method", exchange.request.method);
  fields.emplace_back("route", route != nullptr ? route->name() : "unknown");
  fields.emplace_back("status", exchange.status);
  if (!exchange.error.empty()) fields.emplace_back("error", exchange.error);
  fields.emplace_back("tenant", exchange.caller.tenant);
  if (!exchange.model.empty()) {
    fields.emplace_back("model", exchange.model);
    fields.emplace_back("prompt_tokens", exchange.usage.prompt_tokens);
    fields.emplace_back("cached_tokens", exchange.usage.cached_tokens);
    fields.emplace_back("output_tokens", exchange.usage.output_tokens);
  }
  if (trace.ttft_ms) fields.emplace_back("ttft_ms", *trace.ttft_ms);
  fields.emplace_back("total_ms", whole_us(took));
  if (!trace.finish.empty()) fields.emplace_back("finish", trace.finish);
  if (trace.met_slo) fields.emplace_back("met_slo", *trace.met_slo);
  if (service.options.log_prompts && !trace.body.empty()) fields.emplace_back("body", trace.body);
  obs::Log::write(level, "request", fields);
}

// By OpenTelemetry's rule a server's span fails only if the server is at fault. Traces of refused requests
// are kept as well, but only for callers that were let in: others could fill the collector.
void note_outcome(const Exchange& exchange, const Route* route, Trace& spans) {
  const bool is_caller_known = !exchange.endpoint.empty();
  if (is_broken(exchange)) {
    spans.fail(Trace::kRoot, exchange.error);
    if (is_caller_known && is_use(route)) spans.keep();
  } else if (!exchange.error.empty()) {
    spans.note(Trace::kRoot, "error.type", exchange.error);
    if (is_caller_known && is_use(route)) spans.keep();
  } else if (exchange.status == kClientLeft) {
    spans.note(Trace::kRoot, "error.type", "client_left");
  }
}

void complete_trace(const Service& service, const Exchange& exchange, const Route* route) {
  const RequestTrace& trace = *exchange.trace;
  Trace& spans = *trace.spans;
  if (!spans.records()) return;
  spans.note(Trace::kRoot, "http.response.status_code", exchange.status);
  spans.note(Trace::kRoot, "kvasir.request_id", exchange.id);
  spans.note(Trace::kRoot, "kvasir.tenant", exchange.caller.tenant);
  spans.note(Trace::kRoot, "kvasir.tier", exchange.caller.tier->name);
  if (!exchange.model.empty()) spans.note(Trace::kRoot, "gen_ai.request.model", exchange.model);
  if (trace.ttft_ms) spans.note(Trace::kRoot, "kvasir.ttft_ms", *trace.ttft_ms);
  if (!trace.finish.empty()) spans.note(Trace::kRoot, "kvasir.finish", trace.finish);
  if (trace.met_slo) spans.note(Trace::kRoot, "kvasir.met_slo", *trace.met_slo);
  if (service.options.trace_prompts && !trace.body.empty())
    spans.note(Trace::kRoot, "kvasir.request.body", trace.body);
  note_outcome(exchange, route, spans);
  spans.end(Trace::kRoot);
}

}  // namespace

std::shared_ptr<RequestTrace> begin_trace(Service& service, const net::HttpRequest& request,
                                          const Route* route) {
  const auto parent = obs::parse_trace_context(request.header("traceparent").value_or(""),
                                               request.header("tracestate").value_or(""));
  const bool wanted = route != nullptr && (is_use(route) || parent);
  const std::string name =
      route != nullptr ? std::string(route->method).append(" ").append(route->name()) : "unknown";
  auto spans =
      service.tracer.begin(name, parent, wanted ? obs::Tracer::Detail::spans : obs::Tracer::Detail::ids_only);
  spans->set_kind(Trace::kRoot, obs::SpanKind::server);
  spans->note(Trace::kRoot, "http.request.method", request.method);
  if (route != nullptr) spans->note(Trace::kRoot, "http.route", route->path);
  return std::make_shared<RequestTrace>(std::move(spans));
}

void note_body(const Service& service, Exchange& exchange) {
  if (!service.options.log_prompts && !service.options.trace_prompts) return;
  const std::string_view begin = std::string_view(exchange.request.body).substr(0, kMaxBodyBytes);
  exchange.trace->body = begin.substr(0, base::utf8_valid_prefix(begin));
}

void note_end(const Service& service, const Exchange& exchange, const Route* route, base::Duration took) {
  log_request(service, exchange, route, took);
  complete_trace(service, exchange, route);
}

}  // namespace kvasir::api
