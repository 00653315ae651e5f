#include "tenancy/account_json.h"

namespace kvasir::tenancy {

namespace json = boost::json;

namespace {

// Converts to seconds since the epoch; 0 ("never") becomes null.
json::value moment(std::int64_t ms) {
  return ms == 0 ? json::value(nullptr) : json::value(ms / 1000);
}

}  // namespace

std::string_view status_of(const store::ApiKey& key, std::int64_t now_ms) {
  if (key.revoked_ms != 0) return "revoked";
  return key.expires_ms != 0 && key.expires_ms <= now_ms ? "expired" : "active";
}

json::object tenant_object(const store::Tenant& tenant) {
  return {{"id", tenant.id},
          {"object", "tenant"},
          {"tier", tenant.tier},
          {"system_prompt", tenant.system_prompt},
          {"created_at", tenant.created_ms / 1000}};
}

json::object key_object(const store::ApiKey& key, std::int64_t now_ms) {
  return {{"id", key.id},
          {"object", "api_key"},
          {"tenant", key.tenant},
          {"name", key.name},
          {"scope", name_of(key.scope)},
          {"hint", key.hint},
          {"status", status_of(key, now_ms)},
          {"created_at", key.created_ms / 1000},
          {"expires_at", moment(key.expires_ms)},
          {"revoked_at", moment(key.revoked_ms)}};
}

}  // namespace kvasir::tenancy
