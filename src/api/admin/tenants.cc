#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/admin/endpoints.h"
#include "api/http/json/object_schema.h"
#include "api/http/json/page_query.h"
#include "api/http/work/answer_by_store.h"
#include "tenancy/account_json.h"
#include "tenancy/accounts.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Result;
using base::Status;

namespace {

using Work = StoreWork<json::object>;

struct TenantFields {
  std::string name;
  store::TenantChange change;
};

constexpr Field<TenantFields> kTenantName[] = {
    {"name",
     [](const json::value& v, TenantFields& f) -> Status {
       TRY(f.name, read_string(v));
       return base::ok();
     },
     R"({"type": "string", "pattern": "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$",
         "description": "Its id from now on; `anonymous` is nobody's."})",
     "a name"},
};

constexpr Field<TenantFields> kTenantFields[] = {
    {"tier",
     [](const json::value& v, TenantFields& f) -> Status {
       TRY(f.change.tier, read_string(v));
       return base::ok();
     },
     R"({"type": "string", "description": "`free`, `pro`, `enterprise` or one of the settings; `free` at first."})"},
    {"system_prompt",
     [](const json::value& v, TenantFields& f) -> Status {
       TRY(f.change.system_prompt, read_string(v));
       return base::ok();
     },
     R"({"type": "string", "description": "Put before the system message of each of its chats."})"},
};

Result<TenantFields> read_tenant_fields(const Service& service, const json::object& body) {
  TenantFields fields;
  TRY_OK(read_fields<TenantFields>(body, kTenantFields, fields));
  if (fields.change.tier) TRY_OK(tenancy::check_tier(*fields.change.tier, service.directory.tiers()));
  if (fields.change.system_prompt) TRY_OK(tenancy::check_system_prompt(*fields.change.system_prompt));
  return fields;
}

// How much of each limit of the tenant's tier is used now.
json::object limits_of(const Service& service, const std::string& tenant) {
  const tenancy::Standings now = service.admission.standings(service.directory.of_tenant(tenant));
  json::object limits;
  const auto add = [&](std::string_view name, std::int64_t limit, std::int64_t used) {
    if (limit > 0) limits[name] = json::object{{"limit", limit}, {"used", used}};
  };
  add("requests_per_minute", now.requests.limit, now.requests.limit - now.requests.left);
  add("tokens_per_minute", now.tokens.limit, now.tokens.limit - now.tokens.left);
  add("max_concurrent", now.inside.limit, now.inside.used);
  add("tokens_per_day", now.day.limit, now.day.used);
  add("tokens_per_month", now.month.limit, now.month.used);
  return limits;
}

json::object describe(const Service& service, const store::Tenant& tenant) {
  json::object object = tenancy::tenant_object(tenant);
  object["limits"] = limits_of(service, tenant.id);
  return object;
}

}  // namespace

json::object tenant_request_schema() {
  return ObjectSchema().add<TenantFields>(kTenantName).add<TenantFields>(kTenantFields).take();
}

json::object tenant_change_schema() {
  return ObjectSchema().add<TenantFields>(kTenantFields).take();
}

asio::awaitable<void> handle_create_tenant(Service& service, Exchange& exchange) {
  StorePlan plan = [&service](const std::string& body) -> Result<Work> {
    TRY(const json::object object, parse_object(body, service.options.max_json_depth));
    TRY(TenantFields fields, read_tenant_fields(service, object));
    TRY_OK(read_fields<TenantFields>(object, kTenantName, fields));
    const store::Tenant made{.id = fields.name,
                             .tier = fields.change.tier.value_or("free"),
                             .system_prompt = fields.change.system_prompt.value_or(""),
                             .created_ms = now_ms()};
    TRY_OK(tenancy::check_tenant(made, service.directory.tiers()));
    return Work([&service, made](store::Store& store) -> Result<json::object> {
      TRY_OK(store.accounts().add_tenant(made));
      (void)service.directory.refresh();
      return describe(service, made);
    });
  };
  return answer_by_plan(service, exchange, std::move(plan));
}

asio::awaitable<void> handle_list_tenants(Service& service, Exchange& exchange) {
  Result<ListQuery> query = read_list_query(exchange.request.query, store::Order::descending);
  if (!query.ok()) {
    co_await reply_error(exchange, query.error());
    co_return;
  }
  Work work = [&service, page = query->page](store::Store& store) -> Result<json::object> {
    TRY(const store::Page<store::Tenant> found, store.accounts().list_tenants(page));
    json::array items;
    for (const store::Tenant& tenant : found.items) items.push_back(describe(service, tenant));
    return list_object(std::move(items), found.has_more);
  };
  co_await answer_by(service, exchange, std::move(work));
}

asio::awaitable<void> handle_tenant(Service& service, Exchange& exchange) {
  Work work = [&service, id = exchange.parameter("id")](store::Store& store) -> Result<json::object> {
    TRY(const store::Tenant found, store.accounts().find_tenant(id));
    return describe(service, found);
  };
  return answer_by(service, exchange, std::move(work));
}

asio::awaitable<void> handle_change_tenant(Service& service, Exchange& exchange) {
  StorePlan plan = [&service, id = exchange.parameter("id")](const std::string& body) -> Result<Work> {
    TRY(const json::object object, parse_object(body, service.options.max_json_depth));
    TRY(TenantFields fields, read_tenant_fields(service, object));
    if (const json::value* name = object.if_contains("name"); name != nullptr && *name != json::value(id))
      return in_field("name", wrong_value("a tenant keeps its name, which what it owns carries"));
    return Work(
        [&service, id, change = std::move(fields.change)](store::Store& store) -> Result<json::object> {
          TRY(const store::Tenant changed, store.accounts().change_tenant(id, change));
          (void)service.directory.refresh();
          return describe(service, changed);
        });
  };
  return answer_by_plan(service, exchange, std::move(plan));
}

asio::awaitable<void> handle_delete_tenant(Service& service, Exchange& exchange) {
  Work work = [&service, id = exchange.parameter("id")](store::Store& store) -> Result<json::object> {
    TRY_OK(store.accounts().remove_tenant(id));
    (void)service.directory.refresh();
    return json::object{{"id", id}, {"object", "tenant"}, {"deleted", true}};
  };
  return answer_by(service, exchange, std::move(work));
}

}  // namespace kvasir::api
