#include <cstdint>
#include <string>
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
constexpr std::int64_t kMaxSeconds = 253'402'300'799;  // the end of the year 9999

constexpr Field<tenancy::KeyWish> kKeyFields[] = {
    {"tenant",
     [](const json::value& v, tenancy::KeyWish& w) -> Status {
       TRY(w.tenant, read_string(v));
       return base::ok();
     },
     R"({"type": "string", "description": "Whose key it is."})", "the name of a tenant"},
    {"name",
     [](const json::value& v, tenancy::KeyWish& w) -> Status {
       TRY(w.name, read_string(v));
       return base::ok();
     },
     R"({"type": "string", "maxLength": 200, "description": "What it is for."})"},
    {"scope",
     [](const json::value& v, tenancy::KeyWish& w) -> Status {
       TRY(const std::string name, read_string(v));
       const auto scope = store::parse_scope(name);
       if (!scope.ok()) return wrong_value(scope.error().message);
       w.scope = *scope;
       return base::ok();
     },
     R"({"enum": ["tenant", "admin", "metrics"], "default": "tenant"})"},
    {"expires_at",
     [](const json::value& v, tenancy::KeyWish& w) -> Status {
       TRY(const std::int64_t seconds, read_integer(v, {1, kMaxSeconds}));
       w.expires_ms = seconds * 1000;
       return base::ok();
     },
     R"({"type": "integer", "minimum": 1, "maximum": 253402300799,
         "description": "Seconds since the epoch; a key without it does not expire."})"},
};

// The answer to creating or rotating a key. No other answer has the key's text.
json::object issued_object(const tenancy::IssuedKey& issued) {
  json::object object = tenancy::key_object(issued.key, now_ms());
  object["key"] = issued.text;
  return object;
}

}  // namespace

json::object key_request_schema() {
  return ObjectSchema().add<tenancy::KeyWish>(kKeyFields).take();
}

asio::awaitable<void> handle_create_key(Service& service, Exchange& exchange) {
  StorePlan plan = [&service](const std::string& body) -> Result<Work> {
    TRY(const json::object object, parse_object(body, service.options.max_json_depth));
    tenancy::KeyWish wish;
    TRY_OK(read_fields<tenancy::KeyWish>(object, kKeyFields, wish));
    return Work([&service, wish = std::move(wish)](store::Store& store) -> Result<json::object> {
      Result<tenancy::IssuedKey> issued = tenancy::issue_key(store.accounts(), wish, now_ms());
      if (!issued.ok()) {
        base::Error error = std::move(issued).error();
        if (error.field == "expires") error.field = "expires_at";
        return error;
      }
      (void)service.directory.refresh();
      return issued_object(*issued);
    });
  };
  return answer_by_plan(service, exchange, std::move(plan));
}

asio::awaitable<void> handle_list_keys(Service& service, Exchange& exchange) {
  Result<ListQuery> query = read_list_query(exchange.request.query, store::Order::descending);
  if (!query.ok()) {
    co_await reply_error(exchange, query.error());
    co_return;
  }
  Work work = [query = std::move(*query)](store::Store& store) -> Result<json::object> {
    TRY(const store::Page<store::ApiKey> found, store.accounts().list_keys(query.tenant, query.page));
    json::array items;
    for (const store::ApiKey& key : found.items) items.push_back(tenancy::key_object(key, now_ms()));
    return list_object(std::move(items), found.has_more);
  };
  co_await answer_by(service, exchange, std::move(work));
}

asio::awaitable<void> handle_key(Service& service, Exchange& exchange) {
  Work work = [id = exchange.parameter("id")](store::Store& store) -> Result<json::object> {
    TRY(const store::ApiKey found, store.accounts().find_key(id));
    return tenancy::key_object(found, now_ms());
  };
  return answer_by(service, exchange, std::move(work));
}

asio::awaitable<void> handle_revoke_key(Service& service, Exchange& exchange) {
  Work work = [&service, id = exchange.parameter("id")](store::Store& store) -> Result<json::object> {
    TRY(const store::ApiKey revoked, store.accounts().revoke_key(id, now_ms()));
    (void)service.directory.refresh();
    return tenancy::key_object(revoked, now_ms());
  };
  return answer_by(service, exchange, std::move(work));
}

asio::awaitable<void> handle_rotate_key(Service& service, Exchange& exchange) {
  Work work = [&service, id = exchange.parameter("id")](store::Store& store) -> Result<json::object> {
    TRY(const tenancy::IssuedKey issued, tenancy::rotate_key(store.accounts(), id, now_ms()));
    (void)service.directory.refresh();
    return issued_object(issued);
  };
  return answer_by(service, exchange, std::move(work));
}

}  // namespace kvasir::api
