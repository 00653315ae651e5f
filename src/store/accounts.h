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
  std::string id;  // its name, which never changes: whatever is stored carries it
  std::string tier;
  std::string system_prompt;  // before that of its chats; empty: none
  std::int64_t created_ms = 0;
};

// What is set is changed.
struct TenantChange {
  std::optional<std::string> tier;
  std::optional<std::string> system_prompt;
};

enum class KeyScope : std::uint8_t {
  tenant,   // uses the models; sees what is its tenant's
  admin,    // tenants and keys
  metrics,  // reads the metrics
};
std::string_view name_of(KeyScope scope);
base::Result<KeyScope> parse_scope(std::string_view name);

// A key without its text, which nobody keeps.
struct ApiKey {
  std::string id;
  std::string tenant;
  std::string name;  // for people; may be empty
  KeyScope scope = KeyScope::tenant;
  std::string hash;  // SHA-256 of the text, in hexadecimal; never shown
  std::string hint;  // the last characters of the text
  std::int64_t created_ms = 0;
  std::int64_t expires_ms = 0;  // 0: never
  std::int64_t revoked_ms = 0;  // 0: it is not
};

// All that decides who may come in, as of one moment.
struct AccountsSnapshot {
  std::int64_t version = 0;
  std::vector<Tenant> tenants;
  std::vector<ApiKey> keys;  // those that are not revoked
};

// Tenants and their keys. Whatever has returned is durable. Calls block and are thread-safe.
class Accounts {
 public:
  virtual ~Accounts() = default;

  // conflict: there is one of this name.
  virtual base::Status add_tenant(const Tenant& tenant) = 0;
  virtual base::Result<Tenant> find_tenant(const std::string& id) = 0;
  virtual base::Result<Page<Tenant>> list_tenants(const PageQuery& query) = 0;
  virtual base::Result<Tenant> change_tenant(const std::string& id, const TenantChange& change) = 0;
  // With its keys and everything else that it owns.
  virtual base::Status remove_tenant(const std::string& id) = 0;

  // not_found: there is no such tenant.
  virtual base::Status add_key(const ApiKey& key) = 0;
  virtual base::Result<ApiKey> find_key(const std::string& id) = 0;
  // `tenant` empty: of all. Revoked ones too.
  virtual base::Result<Page<ApiKey>> list_keys(const std::string& tenant, const PageQuery& query) = 0;
  // One that is revoked stays as it was.
  virtual base::Result<ApiKey> revoke_key(const std::string& id, std::int64_t now_ms) = 0;
  // Revokes one and adds the other, at once. conflict: it is revoked already.
  virtual base::Status replace_key(const std::string& id, const ApiKey& next, std::int64_t now_ms) = 0;

  // Grows with every change, whichever process makes it. This and `snapshot` wait for no writer.
  virtual base::Result<std::int64_t> version() = 0;
  virtual base::Result<AccountsSnapshot> snapshot() = 0;
};

}  // namespace kvasir::store
