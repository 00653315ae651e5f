#include "store/sqlite_accounts.h"

#include <array>
#include <utility>

#include "store/sqlite_page.h"

namespace kvasir::store {

using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

constexpr std::array kKeyScopes = {KeyScope::tenant, KeyScope::admin, KeyScope::metrics};

#define TENANT_COLUMNS "id, tier, system_prompt, created_ms"
#define KEY_COLUMNS "id, tenant, name, scope, hash, hint, created_ms, expires_ms, revoked_ms"

Tenant read_tenant(const Statement& s) {
  Tenant tenant;
  tenant.id = s.text(0);
  tenant.tier = s.text(1);
  tenant.system_prompt = s.text(2);
  tenant.created_ms = s.integer(3);
  return tenant;
}

ApiKey read_key(const Statement& s) {
  ApiKey key;
  key.id = s.text(0);
  key.tenant = s.text(1);
  key.name = s.text(2);
  key.scope = static_cast<KeyScope>(s.integer(3));
  key.hash = s.text(4);
  key.hint = s.text(5);
  key.created_ms = s.integer(6);
  key.expires_ms = s.integer(7);
  key.revoked_ms = s.integer(8);
  return key;
}

// Each change calls this in its transaction.
Status note_change(Transaction& transaction) {
  TRY(Statement statement, transaction.prepare("UPDATE accounts SET version = version + 1"));
  return statement.run();
}

Result<std::int64_t> read_version(Transaction& transaction) {
  TRY(Statement statement, transaction.prepare("SELECT version FROM accounts"));
  TRY(const bool there, statement.step());
  if (!there) return base::error(ErrorCode::corrupt, "the store failed: it has lost count of its accounts");
  return statement.integer(0);
}

Result<Tenant> get_tenant(Transaction& transaction, const std::string& id) {
  TRY(Statement statement, transaction.prepare("SELECT " TENANT_COLUMNS " FROM tenants WHERE id = ?1"));
  TRY(const bool there, statement.bind(id).step());
  if (!there) return no_such("tenant", id);
  return read_tenant(statement);
}

Result<ApiKey> get_key(Transaction& transaction, const std::string& id) {
  TRY(Statement statement, transaction.prepare("SELECT " KEY_COLUMNS " FROM api_keys WHERE id = ?1"));
  TRY(const bool there, statement.bind(id).step());
  if (!there) return no_such("key", id);
  return read_key(statement);
}

Status insert_key(Transaction& transaction, const ApiKey& key) {
  TRY_OK(get_tenant(transaction, key.tenant));
  TRY(Statement statement, transaction.prepare("INSERT INTO api_keys (" KEY_COLUMNS
                                               ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"));
  return statement.bind(key.id)
      .bind(key.tenant)
      .bind(key.name)
      .bind(static_cast<std::int64_t>(key.scope))
      .bind(key.hash)
      .bind(key.hint)
      .bind(key.created_ms)
      .bind(key.expires_ms)
      .bind(key.revoked_ms)
      .run();
}

Status set_revoked(Transaction& transaction, const std::string& id, std::int64_t now_ms) {
  TRY(Statement statement, transaction.prepare("UPDATE api_keys SET revoked_ms = ?2 WHERE id = ?1"));
  return statement.bind(id).bind(now_ms).run();
}

template <class T, class Read>
Result<std::vector<T>> read_all(Transaction& transaction, const char* sql, Read read) {
  TRY(Statement statement, transaction.prepare(sql));
  std::vector<T> rows;
  while (true) {
    TRY(const bool there, statement.step());
    if (!there) return rows;
    rows.push_back(read(statement));
  }
}

// Everything that a tenant owns is removed with it, so that a later tenant with the same name finds nothing.
constexpr const char* kRemovals[] = {
    "DELETE FROM api_keys WHERE tenant = ?1", "DELETE FROM conversations WHERE tenant = ?1",
    "DELETE FROM answers WHERE tenant = ?1",  "DELETE FROM batches WHERE tenant = ?1",
    "DELETE FROM files WHERE tenant = ?1",    "DELETE FROM tenants WHERE id = ?1",
};

}  // namespace

std::string_view name_of(KeyScope scope) {
  switch (scope) {
    case KeyScope::tenant:
      return "tenant";
    case KeyScope::admin:
      return "admin";
    case KeyScope::metrics:
      return "metrics";
  }
  return "unknown";
}

Result<KeyScope> parse_scope(std::string_view name) {
  for (const KeyScope scope : kKeyScopes)
    if (name_of(scope) == name) return scope;
  return base::error(ErrorCode::invalid_argument, "expected tenant, admin or metrics, and got '{}'", name);
}

Status SqliteAccounts::add_tenant(const Tenant& tenant) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  if (get_tenant(transaction, tenant.id).ok())
    return base::Error{
        ErrorCode::conflict, fmt::format("there is a tenant '{}' already", tenant.id), {}, "already_exists"};
  {
    TRY(Statement statement,
        transaction.prepare("INSERT INTO tenants (" TENANT_COLUMNS ") VALUES (?1, ?2, ?3, ?4)"));
    TRY_OK(
        statement.bind(tenant.id).bind(tenant.tier).bind(tenant.system_prompt).bind(tenant.created_ms).run());
  }
  TRY_OK(note_change(transaction));
  return transaction.commit();
}

Result<Tenant> SqliteAccounts::find_tenant(const std::string& id) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::read));
  return get_tenant(transaction, id);
}

Result<Page<Tenant>> SqliteAccounts::list_tenants(const PageQuery& query) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::read));
  TRY(const Scan scan,
      make_scan(transaction, "SELECT seq FROM tenants WHERE ?1 = '' AND id = ?2", "", query));
  TRY(Statement statement,
      transaction.prepare(
          scan.order == Order::ascending
              ? "SELECT seq FROM tenants WHERE seq > ?1 AND seq < ?2 ORDER BY seq LIMIT ?3"
              : "SELECT seq FROM tenants WHERE seq > ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3"));
  return read_page<Tenant>(transaction, statement, scan,
                           "SELECT " TENANT_COLUMNS " FROM tenants WHERE seq = ?1", read_tenant);
}

Result<Tenant> SqliteAccounts::change_tenant(const std::string& id, const TenantChange& change) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  TRY(Tenant tenant, get_tenant(transaction, id));
  if (change.tier) tenant.tier = *change.tier;
  if (change.system_prompt) tenant.system_prompt = *change.system_prompt;
  {
    TRY(Statement statement,
        transaction.prepare("UPDATE tenants SET tier = ?2, system_prompt = ?3 WHERE id = ?1"));
    TRY_OK(statement.bind(id).bind(tenant.tier).bind(tenant.system_prompt).run());
  }
  TRY_OK(note_change(transaction));
  TRY_OK(transaction.commit());
  return tenant;
}

Status SqliteAccounts::remove_tenant(const std::string& id) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  TRY_OK(get_tenant(transaction, id));
  for (const char* sql : kRemovals) {
    TRY(Statement statement, transaction.prepare(sql));
    TRY_OK(statement.bind(id).run());
  }
  TRY_OK(note_change(transaction));
  return transaction.commit();
}

Status SqliteAccounts::add_key(const ApiKey& key) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  TRY_OK(insert_key(transaction, key));
  TRY_OK(note_change(transaction));
  return transaction.commit();
}

Result<ApiKey> SqliteAccounts::find_key(const std::string& id) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::read));
  return get_key(transaction, id);
}

Result<Page<ApiKey>> SqliteAccounts::list_keys(const std::string& tenant, const PageQuery& query) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::read));
  if (!tenant.empty()) TRY_OK(get_tenant(transaction, tenant));
  TRY(const Scan scan,
      make_scan(transaction, "SELECT seq FROM api_keys WHERE (?1 = '' OR tenant = ?1) AND id = ?2", tenant,
                query));
  TRY(Statement statement,
      transaction.prepare(
          scan.order == Order::ascending
              ? "SELECT seq FROM api_keys WHERE (?1 = '' OR tenant = ?1) AND seq > ?2 AND seq < ?3 "
                "ORDER BY seq LIMIT ?4"
              : "SELECT seq FROM api_keys WHERE (?1 = '' OR tenant = ?1) AND seq > ?2 AND seq < ?3 "
                "ORDER BY seq DESC LIMIT ?4"));
  statement.bind(tenant);
  return read_page<ApiKey>(transaction, statement, scan,
                           "SELECT " KEY_COLUMNS " FROM api_keys WHERE seq = ?1", read_key);
}

Result<ApiKey> SqliteAccounts::revoke_key(const std::string& id, std::int64_t now_ms) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  TRY(ApiKey key, get_key(transaction, id));
  if (key.revoked_ms != 0) return key;
  key.revoked_ms = now_ms;
  TRY_OK(set_revoked(transaction, id, now_ms));
  TRY_OK(note_change(transaction));
  TRY_OK(transaction.commit());
  return key;
}

Status SqliteAccounts::replace_key(const std::string& id, const ApiKey& next, std::int64_t now_ms) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  TRY(const ApiKey key, get_key(transaction, id));
  if (key.revoked_ms != 0)
    return base::Error{ErrorCode::conflict,
                       fmt::format("the key '{}' is revoked; create a new one instead", id),
                       {},
                       "key_revoked"};
  TRY_OK(set_revoked(transaction, id, now_ms));
  TRY_OK(insert_key(transaction, next));
  TRY_OK(note_change(transaction));
  return transaction.commit();
}

Result<std::int64_t> SqliteAccounts::version() {
  TRY(Transaction transaction, Transaction::begin(watch_, Access::read));
  return read_version(transaction);
}

Result<AccountsSnapshot> SqliteAccounts::snapshot() {
  TRY(Transaction transaction, Transaction::begin(watch_, Access::read));
  AccountsSnapshot all;
  TRY(all.version, read_version(transaction));
  TRY(all.tenants,
      read_all<Tenant>(transaction, "SELECT " TENANT_COLUMNS " FROM tenants ORDER BY seq", read_tenant));
  TRY(all.keys,
      read_all<ApiKey>(transaction, "SELECT " KEY_COLUMNS " FROM api_keys WHERE revoked_ms = 0 ORDER BY seq",
                       read_key));
  return all;
}

}  // namespace kvasir::store
