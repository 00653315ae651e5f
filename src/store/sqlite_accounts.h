#pragma once

#include <string>

#include "store/accounts.h"
#include "store/sqlite_database.h"

namespace kvasir::store {

class SqliteAccounts final : public Accounts {
 public:
  // `watch` is another connection to the same file. Calls that must not wait for the first one's mutex use
  // it.
  SqliteAccounts(SqliteDatabase& database, SqliteDatabase& watch) : database_(database), watch_(watch) {}

  base::Status add_tenant(const Tenant& tenant) override;
  base::Result<Tenant> find_tenant(const std::string& id) override;
  base::Result<Page<Tenant>> list_tenants(const PageQuery& query) override;
  base::Result<Tenant> change_tenant(const std::string& id, const TenantChange& change) override;
  base::Status remove_tenant(const std::string& id) override;
  base::Status add_key(const ApiKey& key) override;
  base::Result<ApiKey> find_key(const std::string& id) override;
  base::Result<Page<ApiKey>> list_keys(const std::string& tenant, const PageQuery& query) override;
  base::Result<ApiKey> revoke_key(const std::string& id, std::int64_t now_ms) override;
  base::Status replace_key(const std::string& id, const ApiKey& next, std::int64_t now_ms) override;
  base::Result<std::int64_t> version() override;
  base::Result<AccountsSnapshot> snapshot() override;

 private:
  SqliteDatabase& database_;
  SqliteDatabase& watch_;
};

}  // namespace kvasir::store
