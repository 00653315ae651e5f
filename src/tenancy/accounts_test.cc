#include "tenancy/accounts.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "store/sqlite_store.h"
#include "store/temp_folder.h"
#include "tenancy/api_key.h"

namespace kvasir::tenancy {
namespace {

TEST(ApiKey, IsLongRandomAndSafeToPaste) {
  std::set<std::string> texts;
  std::set<char> characters;
  for (int i = 0; i < 200; ++i) {
    const std::string text = make_key_text();
    EXPECT_TRUE(text.starts_with("kv-"));
    EXPECT_EQ(text.size(), 47u);
    for (const char c : text.substr(3)) {
      EXPECT_TRUE(std::isalnum(static_cast<unsigned char>(c))) << text;
      characters.insert(c);
    }
    texts.insert(text);
  }
  EXPECT_EQ(texts.size(), 200u);
  EXPECT_EQ(characters.size(), 62u);
}

TEST(ApiKey, IsHashedWithSha256) {
  EXPECT_EQ(hex_of(hash_key("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Tenants, AreCheckedBeforeTheyAreMade) {
  const std::vector<Tier> tiers = config::built_in_tiers();
  EXPECT_TRUE(check_tenant({.id = "acme-2.corp_x", .tier = "pro"}, tiers).ok());
  for (const std::string& name :
       {std::string(), std::string("a b"), std::string("-x"), std::string("a/b"), std::string("address:1"),
        std::string("anonymous"), std::string(65, 'x'), std::string("n\xC3\xA4me")})
    EXPECT_EQ(check_tenant({.id = name, .tier = "pro"}, tiers).error().field, "name") << name;
  const base::Error tier = check_tenant({.id = "a", .tier = "gold"}, tiers).error();
  EXPECT_EQ(tier.field, "tier");
  EXPECT_NE(tier.message.find("free, pro, enterprise"), std::string::npos) << tier.message;
  EXPECT_EQ(check_tenant({.id = "a", .tier = "pro", .system_prompt = std::string(70'000, 'x')}, tiers)
                .error()
                .field,
            "system_prompt");
}

class KeysTest : public testing::Test {
 protected:
  KeysTest() { EXPECT_TRUE(accounts().add_tenant({.id = "acme", .tier = "pro"}).ok()); }
  store::Accounts& accounts() { return store_->accounts(); }

  store::TempFolder folder_;
  std::unique_ptr<store::SqliteStore> store_ = store::SqliteStore::open(folder_.path() / "kvasir.db").value();
};

TEST_F(KeysTest, OnlyTheHashIsKept) {
  const IssuedKey issued = issue_key(accounts(), {.tenant = "acme", .name = "laptop"}, 5).value();
  const store::ApiKey kept = accounts().find_key(issued.key.id).value();
  EXPECT_EQ(kept.hash, hex_of(hash_key(issued.text)));
  EXPECT_TRUE(issued.text.ends_with(kept.hint));
  EXPECT_EQ(kept.hint.size(), 4u);
  EXPECT_EQ(kept.name, "laptop");
  EXPECT_EQ(issue_key(accounts(), {.tenant = "acme", .expires_ms = 5}, 5).error().field, "expires");
  EXPECT_EQ(issue_key(accounts(), {.tenant = "nobody"}, 5).error().code, base::ErrorCode::not_found);
}

TEST_F(KeysTest, ARotatedKeyIsTheSameButForItsText) {
  const IssuedKey old =
      issue_key(accounts(),
                {.tenant = "acme", .name = "ops", .scope = store::KeyScope::metrics, .expires_ms = 1'000},
                100)
          .value();
  const IssuedKey next = rotate_key(accounts(), old.key.id, 500).value();
  EXPECT_NE(next.text, old.text);
  EXPECT_NE(next.key.id, old.key.id);
  EXPECT_EQ(next.key.name, "ops");
  EXPECT_EQ(next.key.scope, store::KeyScope::metrics);
  EXPECT_EQ(next.key.expires_ms, 1'400);
  EXPECT_EQ(accounts().find_key(old.key.id).value().revoked_ms, 500);
  EXPECT_EQ(rotate_key(accounts(), old.key.id, 600).error().code, base::ErrorCode::conflict);
}

TEST(Caller, AnAddressHasItsOwnShare) {
  EXPECT_EQ(anonymous_at("1.2.3.4").flow, "address:1.2.3.4");
  EXPECT_EQ(anonymous_at("1.2.3.4").tenant, "anonymous");
  EXPECT_EQ(anonymous_at("::ffff:1.2.3.4").flow, "address:1.2.3.4");
  EXPECT_EQ(anonymous_at("2001:db8:1:2:3:4:5:6").flow, "address:2001:db8:1:2::/64");
  EXPECT_EQ(anonymous_at("2001:db8:1:2::9").flow, "address:2001:db8:1:2::/64");
  EXPECT_EQ(anonymous_at("fe80::1%eth0").flow, "address:fe80::/64");
  EXPECT_EQ(anonymous_at("").flow, "address:");
}

}  // namespace
}  // namespace kvasir::tenancy
