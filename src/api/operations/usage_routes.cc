#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/http/service/route.h"
#include "api/http/work/store_task.h"
#include "api/operations/endpoints.h"
#include "api/operations/usage_query.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Result;

namespace {

std::int64_t today() {
  return std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()).time_since_epoch().count();
}

net::HttpResponse usage_response(const UsageRequest& request, std::vector<store::UsageRow> rows) {
  if (request.format == UsageFormat::json)
    return net::HttpResponse::json(200, base::json_text(usage_object(request, std::move(rows))));
  std::string next_page;
  net::HttpResponse response(200, "text/csv; charset=utf-8", usage_csv(request, std::move(rows), next_page));
  if (!next_page.empty()) response.headers.push_back({"x-kvasir-next-page", next_page});
  return response;
}

asio::awaitable<void> show_usage(Service& service, Exchange& exchange,
                                 std::optional<std::string> own_tenant) {
  const Result<UsageRequest> request = read_usage_query(exchange.request.query, own_tenant, today());
  if (!request.ok()) co_return co_await reply_error(exchange, request.error());
  // The text of a long page is made on the store's thread rather than on an I/O thread.
  StoreWork<std::shared_ptr<net::HttpResponse>> work =
      [request = *request](store::Store& store) -> Result<std::shared_ptr<net::HttpResponse>> {
    store::UsageQuery query = request.query;
    ++query.limit;
    TRY(std::vector<store::UsageRow> rows, store.usage().totals(query));
    return std::make_shared<net::HttpResponse>(usage_response(request, std::move(rows)));
  };
  Result<std::shared_ptr<net::HttpResponse>> response =
      co_await run_on_store<std::shared_ptr<net::HttpResponse>>(service, exchange, std::move(work));
  if (!response.ok()) co_return co_await reply_error(exchange, response.error());
  co_await reply(exchange, std::move(**response));
}

asio::awaitable<void> handle_usage(Service& service, Exchange& exchange) {
  return show_usage(service, exchange, exchange.caller.tenant);
}

asio::awaitable<void> handle_usage_of_all(Service& service, Exchange& exchange) {
  return show_usage(service, exchange, std::nullopt);
}

constexpr NamedSchema kUsageSchemas[] = {
    {"UsageTotals", R"({"type": "object",
        "required": ["requests", "prompt_tokens", "cached_tokens", "completion_tokens", "cost"], "properties": {
          "day": {"type": "string", "format": "date"}, "tenant": {"type": "string"},
          "key": {"type": "string", "description": "The key's id; empty where none was shown."},
          "model": {"type": "string"}, "requests": {"type": "integer"},
          "cancelled": {"type": "integer", "description": "Of the requests: the client left before the end."},
          "failed": {"type": "integer", "description": "Of the requests. They cost nothing."},
          "prompt_tokens": {"type": "integer"},
          "cached_tokens": {"type": "integer", "description": "Of the prompt tokens."},
          "completion_tokens": {"type": "integer"},
          "cost": {"type": ["number", "null"], "description": "Null where the models have no price."},
          "cost_nano": {"type": ["integer", "null"], "description": "The cost in 1e-9 of the currency's unit."},
          "currency": {"type": ["string", "null"]}}})"},
    {"UsageReport", R"({"type": "object",
        "required": ["object", "start", "end", "data", "has_more", "next_page"], "properties": {
          "object": {"const": "usage"}, "start": {"type": "string", "format": "date"},
          "end": {"type": "string", "format": "date", "description": "Not in it any more."},
          "data": {"type": "array", "items": {"$ref": "#/components/schemas/UsageTotals"}},
          "has_more": {"type": "boolean"}, "next_page": {"type": ["integer", "null"]}}})"},
};

constexpr Answer kUsageAnswers[] = {
    {200, "Totals, by day, tenant, key and model as far as those are told apart.", "UsageReport"},
    {200,
     "With `format=csv`: the same as a table; `x-kvasir-next-page` says where more begins.",
     {},
     "text/csv"}};

constexpr Route kUsageRoutes[] = {
    {.method = "GET",
     .path = "/v1/usage",
     .kind = RouteKind::view,
     .handle = handle_usage,
     .summary = "What was used, and what it costs",
     .answers = kUsageAnswers,
     .query = usage_query_schema},
    {.method = "GET",
     .path = "/v1/admin/usage",
     .kind = RouteKind::view,
     .handle = handle_usage_of_all,
     .summary = "What all tenants have used, or the one that `tenant` names",
     .answers = kUsageAnswers,
     .query = usage_query_schema,
     .scope = Scope::admin},
};

}  // namespace

RouteGroup usage_routes() {
  return {"Usage", kUsageRoutes, kUsageSchemas};
}

}  // namespace kvasir::api
