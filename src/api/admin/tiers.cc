#include <string>
#include <utility>
#include <vector>

#include "api/admin/endpoints.h"
#include "api/http/json/page_query.h"
#include "base/json.h"

namespace kvasir::api {

namespace asio = boost::asio;

namespace {

// A limit as JSON: null if there is none.
json::value limit_or_null(std::int64_t limit) {
  return limit > 0 ? json::value(limit) : json::value(nullptr);
}

json::object describe(const tenancy::Tier& tier) {
  json::array models;
  for (const std::string& model : tier.models) models.emplace_back(model);
  return {{"id", tier.name},
          {"object", "tier"},
          {"weight", tier.weight},
          {"priority", tier.priority},
          {"requests_per_minute", limit_or_null(tier.requests_per_minute)},
          {"tokens_per_minute", limit_or_null(tier.tokens_per_minute)},
          {"max_concurrent", limit_or_null(tier.max_concurrent)},
          {"tokens_per_day", limit_or_null(tier.tokens_per_day)},
          {"tokens_per_month", limit_or_null(tier.tokens_per_month)},
          {"max_context", limit_or_null(tier.max_context)},
          {"models", tier.models.empty() ? json::value(nullptr) : json::value(std::move(models))},
          {"slo_ttft_ms", limit_or_null(tier.slo_ttft_ms)},
          {"slo_tpot_ms", limit_or_null(tier.slo_tpot_ms)},
          {"max_wait_ms", tier.max_wait_ms}};
}

}  // namespace

asio::awaitable<void> handle_list_tiers(Service& service, Exchange& exchange) {
  json::array items;
  for (const tenancy::Tier& tier : service.directory.tiers()) items.push_back(describe(tier));
  co_await reply(exchange,
                 net::HttpResponse::json(200, base::json_text(list_object(std::move(items), false))));
}

}  // namespace kvasir::api
