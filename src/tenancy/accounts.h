#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/accounts.h"
#include "tenancy/caller.h"

// What the command line and the admin API do with tenants and keys. Calls block on the store. An error's
// field is the one of `Tenant` or `KeyWish` that is wrong.
namespace kvasir::tenancy {

// A tenant's name is 1 to 64 letters, digits, dots, dashes and underscores, and not that of nobody.
base::Status check_tenant(const store::Tenant& tenant, const std::vector<Tier>& tiers);
base::Status check_tier(std::string_view name, const std::vector<Tier>& tiers);
base::Status check_system_prompt(std::string_view text);

struct KeyWish {
  std::string tenant;
  std::string name;
  store::KeyScope scope = store::KeyScope::tenant;
  std::int64_t expires_ms = 0;  // 0: never
};

// A key and its text, which nobody can see again.
struct IssuedKey {
  store::ApiKey key;
  std::string text;
};

base::Result<IssuedKey> issue_key(store::Accounts& accounts, const KeyWish& wish, std::int64_t now_ms);
// Another text for the same purpose; the old one is revoked. One that expires lives as long again.
base::Result<IssuedKey> rotate_key(store::Accounts& accounts, const std::string& id, std::int64_t now_ms);

}  // namespace kvasir::tenancy
