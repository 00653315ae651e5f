#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/page.h"

namespace kvasir::store {

struct Tenant {
  std::string id;  // its name; never changes, since all its records contain it
  std::string tier;
  std::string system_prompt;  // put before that of a chat; empty: none
  std::int64_t created_ms = 0;
};

// Changes the fields that are set.
struct TenantChange {
  std::optional<std::string> tier;
  std::optional<std::string> system_prompt;
};

enum class KeyScope : std::uint8_t {
  tenant,   // uses the models and sees its tenant's records
  admin,    // uses the admin API and reads the metrics
  metrics,  // reads the metrics
};
std::string_view name_of(KeyScope scope);
base::Result<KeyScope> parse_scope(std::string_view name);

// An API key without its text, which is stored nowhere.
struct ApiKey {
  std::string id;
  std::string tenant;
  std::string name;  // for people; may be empty
  KeyScope scope = KeyScope::tenant;
  std::string hash;  // SHA-256 of the text, in hexadecimal; never shown
  std::string hint;  // the last characters of the text
  std::int64_t created_ms = 0;
  std::int64_t expires_ms = 0;  // 0: never
  std::int64_t revoked_ms = 0;  // 0: not revoked
};

// Everything that decides which callers may come in, at one moment.
struct AccountsSnapshot {
  std::int64_t version = 0;
  std::vector<Tenant> tenants;
  std::vector<ApiKey> keys;  // all keys that are not revoked
};

// Tenants and their keys. A change is durable once its call has returned. Calls block and are thread-safe.
class Accounts {
 public:
  virtual ~Accounts() = default;

  // conflict: there is already a tenant with this name.
  virtual base::Status add_tenant(const Tenant& tenant) = 0;
  virtual base::Result<Tenant> find_tenant(const std::string& id) = 0;
  virtual base::Result<Page<Tenant>> list_tenants(const PageQuery& query) = 0;
  virtual base::Result<Tenant> change_tenant(const std::string& id, const TenantChange& change) = 0;
  // Also removes the tenant's keys and everything else that it owns.
  virtual base::Status remove_tenant(const std::string& id) = 0;

  // not_found: there is no such tenant.
  virtual base::Status add_key(const ApiKey& key) = 0;
  virtual base::Result<ApiKey> find_key(const std::string& id) = 0;
  // Includes revoked keys. Empty `tenant`: the keys of all tenants.
  virtual base::Result<Page<ApiKey>> list_keys(const std::string& tenant, const PageQuery& query) = 0;
  // A key that was revoked earlier does not change.
  virtual base::Result<ApiKey> revoke_key(const std::string& id, std::int64_t now_ms) = 0;
  // Revokes a key and adds another in one transaction. conflict: the key is already revoked.
  virtual base::Status replace_key(const std::string& id, const ApiKey& next, std::int64_t now_ms) = 0;

  // Grows with every change by any process. This call and `snapshot` do not wait for writers.
  virtual base::Result<std::int64_t> version() = 0;
  virtual base::Result<AccountsSnapshot> snapshot() = 0;
};

}  // namespace kvasir::store
