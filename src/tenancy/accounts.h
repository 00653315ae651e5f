#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/accounts.h"
#include "tenancy/caller.h"

// The operations on tenants and keys behind the command line and the admin API. Calls block on the store. An
// error's field names the member of `Tenant` or `KeyWish` that is wrong.
namespace kvasir::tenancy {

// A tenant's name has 1 to 64 letters, digits, dots, dashes and underscores, and is not the name used for
// callers without a key.
base::Status check_tenant(const store::Tenant& tenant, const std::vector<Tier>& tiers);
base::Status check_tier(std::string_view name, const std::vector<Tier>& tiers);
base::Status check_system_prompt(std::string_view text);

struct KeyWish {
  std::string tenant;
  std::string name;
  store::KeyScope scope = store::KeyScope::tenant;
  std::int64_t expires_ms = 0;  // 0: never
};

// A new key with its text, which cannot be shown again later.
struct IssuedKey {
  store::ApiKey key;
  std::string text;
};

base::Result<IssuedKey> issue_key(store::Accounts& accounts, const KeyWish& wish, std::int64_t now_ms);
// Revokes a key and issues a new one for the same purpose. A key that expires gets the same lifetime again.
base::Result<IssuedKey> rotate_key(store::Accounts& accounts, const std::string& id, std::int64_t now_ms);

}  // namespace kvasir::tenancy
