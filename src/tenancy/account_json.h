#pragma once

#include <cstdint>

#include "base/json.h"
#include "store/accounts.h"

// Tenants and keys as the admin API and the command line show them.
namespace kvasir::tenancy {

boost::json::object tenant_object(const store::Tenant& tenant);
// The object leaves out the key's hash.
boost::json::object key_object(const store::ApiKey& key, std::int64_t now_ms);

// "active", "expired" or "revoked".
std::string_view status_of(const store::ApiKey& key, std::int64_t now_ms);

}  // namespace kvasir::tenancy
