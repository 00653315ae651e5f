#include "api/admin/endpoints.h"
#include "api/http/json/page_query.h"
#include "api/http/service/route.h"

namespace kvasir::api {

namespace {

constexpr NamedSchema kAdminSchemas[] = {
    {"Tenant",
     R"({"type": "object", "required": ["id", "object", "tier", "system_prompt", "created_at", "limits"],
        "properties": {"id": {"type": "string", "description": "Its name."}, "object": {"const": "tenant"},
          "tier": {"type": "string"}, "system_prompt": {"type": "string"},
          "created_at": {"type": "integer"},
          "limits": {"type": "object", "description": "What is used now of each limit that its tier has.",
            "additionalProperties": {"type": "object", "required": ["limit", "used"],
              "properties": {"limit": {"type": "integer"}, "used": {"type": "integer"}}}}}})"},
    {"TierList", R"({"type": "object", "required": ["object", "data", "has_more"], "properties": {
        "object": {"const": "list"}, "data": {"type": "array", "items": {"$ref": "#/components/schemas/Tier"}},
        "first_id": {"type": ["string", "null"]}, "last_id": {"type": ["string", "null"]},
        "has_more": {"const": false}}})"},
    {"Tier", R"({"type": "object",
        "required": ["id", "object", "weight", "priority", "requests_per_minute", "tokens_per_minute", "max_concurrent",
                     "tokens_per_day", "tokens_per_month", "max_context", "models", "slo_ttft_ms", "slo_tpot_ms",
                     "max_wait_ms"],
        "properties": {"id": {"type": "string", "description": "Its name."}, "object": {"const": "tier"},
          "weight": {"type": "integer"}, "priority": {"type": "integer"},
          "requests_per_minute": {"type": ["integer", "null"]}, "tokens_per_minute": {"type": ["integer", "null"]},
          "max_concurrent": {"type": ["integer", "null"]}, "tokens_per_day": {"type": ["integer", "null"]},
          "tokens_per_month": {"type": ["integer", "null"]}, "max_context": {"type": ["integer", "null"]},
          "models": {"type": ["array", "null"], "items": {"type": "string"}},
          "slo_ttft_ms": {"type": ["integer", "null"]}, "slo_tpot_ms": {"type": ["integer", "null"]},
          "max_wait_ms": {"type": "integer"}}})"},
    {"TenantList", R"({"type": "object", "required": ["object", "data", "has_more"], "properties": {
        "object": {"const": "list"}, "data": {"type": "array", "items": {"$ref": "#/components/schemas/Tenant"}},
        "first_id": {"type": ["string", "null"]}, "last_id": {"type": ["string", "null"]},
        "has_more": {"type": "boolean"}}})"},
    {"DeletedTenant", R"({"type": "object", "required": ["id", "object", "deleted"], "properties": {
        "id": {"type": "string"}, "object": {"const": "tenant"}, "deleted": {"const": true}}})"},
    {"ApiKey", R"({"type": "object",
        "required": ["id", "object", "tenant", "name", "scope", "hint", "status", "created_at", "expires_at",
                     "revoked_at"],
        "properties": {"id": {"type": "string"}, "object": {"const": "api_key"},
          "tenant": {"type": "string"}, "name": {"type": "string"},
          "scope": {"enum": ["tenant", "admin", "metrics"]},
          "hint": {"type": "string", "description": "The last characters of the key."},
          "status": {"enum": ["active", "expired", "revoked"]},
          "created_at": {"type": "integer"}, "expires_at": {"type": ["integer", "null"]},
          "revoked_at": {"type": ["integer", "null"]},
          "key": {"type": "string", "description": "The key itself: in the answer that made it, and never again."}}})"},
    {"ApiKeyList", R"({"type": "object", "required": ["object", "data", "has_more"], "properties": {
        "object": {"const": "list"}, "data": {"type": "array", "items": {"$ref": "#/components/schemas/ApiKey"}},
        "first_id": {"type": ["string", "null"]}, "last_id": {"type": ["string", "null"]},
        "has_more": {"type": "boolean"}}})"},
};

constexpr Answer kTenant[] = {{200, "The tenant.", "Tenant"}};
constexpr Answer kTenants[] = {{200, "A page of them.", "TenantList"}};
constexpr Answer kTiers[] = {{200, "All of them, as the settings say.", "TierList"}};
constexpr Answer kDeletedTenant[] = {{200, "It is gone, with all that it owned.", "DeletedTenant"}};
constexpr Answer kKey[] = {{200, "The key, without its text.", "ApiKey"}};
constexpr Answer kNewKey[] = {{200, "The key, with its text this once.", "ApiKey"}};
constexpr Answer kKeys[] = {{200, "A page of them.", "ApiKeyList"}};

constexpr Route kAdminRoutes[] = {
    {.method = "POST",
     .path = "/v1/admin/tenants",
     .kind = RouteKind::work,
     .handle = handle_create_tenant,
     .summary = "Makes a tenant",
     .answers = kTenant,
     .body = tenant_request_schema,
     .scope = Scope::admin},
    {.method = "GET",
     .path = "/v1/admin/tenants",
     .kind = RouteKind::view,
     .handle = handle_list_tenants,
     .summary = "The tenants",
     .answers = kTenants,
     .query = list_query_schema,
     .scope = Scope::admin},
    {.method = "GET",
     .path = "/v1/admin/tenants/{id}",
     .kind = RouteKind::view,
     .handle = handle_tenant,
     .summary = "One tenant",
     .answers = kTenant,
     .scope = Scope::admin},
    {.method = "POST",
     .path = "/v1/admin/tenants/{id}",
     .kind = RouteKind::work,
     .handle = handle_change_tenant,
     .summary = "Changes a tenant",
     .answers = kTenant,
     .body = tenant_change_schema,
     .scope = Scope::admin},
    {.method = "DELETE",
     .path = "/v1/admin/tenants/{id}",
     .kind = RouteKind::work,
     .handle = handle_delete_tenant,
     .summary = "Deletes a tenant with its keys, conversations, files, batches and answers",
     .answers = kDeletedTenant,
     .scope = Scope::admin},
    {.method = "GET",
     .path = "/v1/admin/tiers",
     .kind = RouteKind::view,
     .handle = handle_list_tiers,
     .summary = "The tiers that tenants may have",
     .answers = kTiers,
     .scope = Scope::admin},
    {.method = "POST",
     .path = "/v1/admin/keys",
     .kind = RouteKind::work,
     .handle = handle_create_key,
     .summary = "Makes a key; its text is in this answer alone",
     .answers = kNewKey,
     .body = key_request_schema,
     .scope = Scope::admin},
    {.method = "GET",
     .path = "/v1/admin/keys",
     .kind = RouteKind::view,
     .handle = handle_list_keys,
     .summary = "The keys, without their texts",
     .answers = kKeys,
     .query = key_query_schema,
     .scope = Scope::admin},
    {.method = "GET",
     .path = "/v1/admin/keys/{id}",
     .kind = RouteKind::view,
     .handle = handle_key,
     .summary = "One key",
     .answers = kKey,
     .scope = Scope::admin},
    {.method = "DELETE",
     .path = "/v1/admin/keys/{id}",
     .kind = RouteKind::work,
     .handle = handle_revoke_key,
     .summary = "Revokes a key, and ends what runs by it",
     .answers = kKey,
     .scope = Scope::admin},
    {.method = "POST",
     .path = "/v1/admin/keys/{id}/rotate",
     .kind = RouteKind::work,
     .handle = handle_rotate_key,
     .summary = "Revokes a key, and makes another in its place",
     .answers = kNewKey,
     .scope = Scope::admin},
};

}  // namespace

RouteGroup admin_routes() {
  return {"Administration", kAdminRoutes, kAdminSchemas};
}

}  // namespace kvasir::api
