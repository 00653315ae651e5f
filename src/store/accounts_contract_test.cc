#include <string>

#include "store/store_contract.h"

namespace kvasir::store {
namespace {

using base::ErrorCode;

ApiKey key_named(std::string id, std::string tenant = "acme") {
  ApiKey key;
  key.hash = "hash of " + id;
  key.id = std::move(id);
  key.tenant = std::move(tenant);
  key.hint = "wxyz";
  key.created_ms = 7;
  return key;
}

std::string key_ids(const std::vector<ApiKey>& keys) {
  std::string all;
  for (const ApiKey& key : keys) all += key.id + " ";
  return all;
}

TEST_P(StoreContract, TenantsAndKeysComeBackAsTheyWere) {
  Accounts& accounts = store_->accounts();
  const Tenant acme{.id = "acme", .tier = "pro", .system_prompt = "Be kind.", .created_ms = 5};
  ASSERT_TRUE(accounts.add_tenant(acme).ok());
  EXPECT_EQ(accounts.add_tenant(acme).error().code, ErrorCode::conflict);
  ApiKey key = key_named("key_1");
  key.name = "laptop";
  key.scope = KeyScope::metrics;
  key.expires_ms = 99;
  ASSERT_TRUE(accounts.add_key(key).ok());
  reopen();
  const Tenant tenant = store_->accounts().find_tenant("acme").value();
  EXPECT_EQ(tenant.tier, "pro");
  EXPECT_EQ(tenant.system_prompt, "Be kind.");
  EXPECT_EQ(tenant.created_ms, 5);
  const ApiKey read = store_->accounts().find_key("key_1").value();
  EXPECT_EQ(read.tenant, "acme");
  EXPECT_EQ(read.name, "laptop");
  EXPECT_EQ(read.scope, KeyScope::metrics);
  EXPECT_EQ(read.hash, key.hash);
  EXPECT_EQ(read.hint, "wxyz");
  EXPECT_EQ(read.created_ms, 7);
  EXPECT_EQ(read.expires_ms, 99);
  EXPECT_EQ(read.revoked_ms, 0);
}

TEST_P(StoreContract, AKeyNeedsItsTenant) {
  EXPECT_EQ(store_->accounts().add_key(key_named("key_1")).error().code, ErrorCode::not_found);
  EXPECT_EQ(store_->accounts().find_key("key_1").error().code, ErrorCode::not_found);
  EXPECT_EQ(store_->accounts().list_keys("acme", {}).error().code, ErrorCode::not_found);
}

TEST_P(StoreContract, RevokedKeysAreListedAndNotInTheSnapshot) {
  Accounts& accounts = store_->accounts();
  ASSERT_TRUE(accounts.add_tenant({.id = "acme", .tier = "pro"}).ok());
  ASSERT_TRUE(accounts.add_tenant({.id = "beta", .tier = "free"}).ok());
  for (const char* id : {"key_1", "key_2"}) ASSERT_TRUE(accounts.add_key(key_named(id)).ok());
  ASSERT_TRUE(accounts.add_key(key_named("key_3", "beta")).ok());
  EXPECT_EQ(accounts.revoke_key("key_1", 50).value().revoked_ms, 50);
  EXPECT_EQ(accounts.revoke_key("key_1", 60).value().revoked_ms, 50);
  EXPECT_EQ(accounts.revoke_key("key_9", 60).error().code, ErrorCode::not_found);
  EXPECT_EQ(key_ids(accounts.list_keys("acme", {}).value().items), "key_2 key_1 ");
  EXPECT_EQ(key_ids(accounts.list_keys("", {.limit = 2}).value().items), "key_3 key_2 ");
  EXPECT_EQ(key_ids(accounts.list_keys("", {.after = "key_2"}).value().items), "key_1 ");
  const AccountsSnapshot snapshot = accounts.snapshot().value();
  EXPECT_EQ(key_ids(snapshot.keys), "key_2 key_3 ");
  EXPECT_EQ(snapshot.tenants.size(), 2u);
}

TEST_P(StoreContract, AKeyIsReplacedAtOnce) {
  Accounts& accounts = store_->accounts();
  ASSERT_TRUE(accounts.add_tenant({.id = "acme", .tier = "pro"}).ok());
  ASSERT_TRUE(accounts.add_key(key_named("key_1")).ok());
  ASSERT_TRUE(accounts.replace_key("key_1", key_named("key_2"), 50).ok());
  EXPECT_EQ(key_ids(accounts.snapshot().value().keys), "key_2 ");
  EXPECT_EQ(accounts.replace_key("key_1", key_named("key_3"), 60).error().code, ErrorCode::conflict);
  // If the new key cannot be added, the old one does not change.
  EXPECT_FALSE(accounts.replace_key("key_2", key_named("key_2"), 60).ok());
  EXPECT_EQ(key_ids(accounts.snapshot().value().keys), "key_2 ");
}

TEST_P(StoreContract, EveryChangeOfAccountsIsNoticedByAnotherProcess) {
  const std::unique_ptr<Store> other = bed_->open();
  Accounts& accounts = store_->accounts();
  std::int64_t last = other->accounts().version().value();
  const auto noticed = [&] {
    const std::int64_t before = std::exchange(last, other->accounts().version().value());
    return last > before;
  };
  EXPECT_FALSE(noticed());
  ASSERT_TRUE(accounts.add_tenant({.id = "acme", .tier = "pro"}).ok());
  EXPECT_TRUE(noticed());
  ASSERT_TRUE(accounts.change_tenant("acme", {.tier = "free"}).ok());
  EXPECT_TRUE(noticed());
  EXPECT_EQ(other->accounts().find_tenant("acme").value().tier, "free");
  ASSERT_TRUE(accounts.add_key(key_named("key_1")).ok());
  EXPECT_TRUE(noticed());
  ASSERT_TRUE(accounts.replace_key("key_1", key_named("key_2"), 1).ok());
  EXPECT_TRUE(noticed());
  ASSERT_TRUE(accounts.revoke_key("key_2", 1).ok());
  EXPECT_TRUE(noticed());
  ASSERT_TRUE(accounts.remove_tenant("acme").ok());
  EXPECT_TRUE(noticed());
  // A change of other records does not count.
  add_conversation("conv_1");
  EXPECT_FALSE(noticed());
}

TEST_P(StoreContract, ATenantGoesWithAllThatItOwns) {
  Accounts& accounts = store_->accounts();
  ASSERT_TRUE(accounts.add_tenant({.id = kTenant, .tier = "pro"}).ok());
  ASSERT_TRUE(accounts.add_key(key_named("key_1", kTenant)).ok());
  add_conversation("conv_1");
  append("conv_1", {message("msg_1")});
  ASSERT_TRUE(store_->files().add({.id = "file_1", .tenant = kTenant}, "text").ok());
  ASSERT_TRUE(store_->files().add({.id = "file_2", .tenant = "other"}, "text").ok());
  ASSERT_TRUE(store_->answers().put({.id = "resp_1", .tenant = kTenant, .kind = "response"}).ok());
  ASSERT_TRUE(store_->batches().add({.id = "batch_1", .tenant = kTenant}).ok());
  ASSERT_TRUE(accounts.remove_tenant(kTenant).ok());
  EXPECT_EQ(accounts.remove_tenant(kTenant).error().code, ErrorCode::not_found);
  EXPECT_EQ(accounts.find_key("key_1").error().code, ErrorCode::not_found);
  EXPECT_EQ(conversations().find(key("conv_1")).error().code, ErrorCode::not_found);
  EXPECT_EQ(store_->files().find(key("file_1")).error().code, ErrorCode::not_found);
  EXPECT_EQ(store_->answers().find(key("resp_1"), 1).error().code, ErrorCode::not_found);
  EXPECT_EQ(store_->batches().find(key("batch_1")).error().code, ErrorCode::not_found);
  EXPECT_TRUE(store_->files().find({"other", "file_2"}).ok());
}

}  // namespace
}  // namespace kvasir::store
