#include <string>

#include "api/key_fixture.h"

namespace kvasir::api {
namespace {

class AdminTest : public KeyedApiTest {
 protected:
  void serve_with_admin() {
    serve(says("hello"));
    add_tenant("ops");
    admin_ = bearer(issue("ops", Scope::admin));
  }
  Reply make(const std::string& path, const std::string& body) {
    return post_with("/v1/admin/" + path, body, admin_);
  }
  Reply look(const std::string& path) { return get_with("/v1/admin/" + path, admin_); }
  static std::string text_at(const json::value& value, const char* key) {
    return std::string(value.at(key).as_string());
  }

  std::string admin_;
};

TEST_F(AdminTest, NeedsAnAdminsKeyEvenWhereThereAreNoKeys) {
  serve(says("hello"));
  EXPECT_EQ(get("/v1/admin/tenants").status, 401);
  EXPECT_EQ(post("/v1/admin/keys", R"({"tenant": "x"})").status, 401);
  add_tenant("acme");
  EXPECT_EQ(get_with("/v1/admin/tenants", bearer(issue("acme"))).status, 403);
  EXPECT_EQ(get_with("/v1/admin/tenants", bearer(issue("acme", Scope::metrics))).status, 403);
  EXPECT_EQ(get_with("/v1/admin/tenants", bearer(issue("acme", Scope::admin))).status, 200);
}

TEST_F(AdminTest, TenantsAreMadeChangedAndDeleted) {
  serve_with_admin();
  const Reply made = make("tenants", R"({"name": "acme", "tier": "pro", "system_prompt": "Be kind."})");
  ASSERT_EQ(made.status, 200) << made.text;
  EXPECT_EQ(made.body.at("id"), "acme");
  EXPECT_EQ(make("tenants", R"({"name": "acme"})").status, 409);
  EXPECT_EQ(make("tenants", R"({"name": "a/b"})").body.at("error").at("param"), "name");
  EXPECT_EQ(make("tenants", R"({})").body.at("error").at("param"), "name");
  EXPECT_EQ(make("tenants", R"({"name": "x", "tier": "gold"})").body.at("error").at("param"), "tier");
  EXPECT_EQ(make("tenants/acme", R"({"tier": "free"})").body.at("tier"), "free");
  EXPECT_EQ(make("tenants/acme", R"({"name": "other"})").status, 400);
  EXPECT_EQ(look("tenants/acme").body.at("system_prompt"), "Be kind.");
  EXPECT_EQ(look("tenants?order=asc").body.at("data").at(1).at("id"), "acme");
  EXPECT_EQ(ask("DELETE", "/v1/admin/tenants/acme", admin_).body.at("deleted"), true);
  EXPECT_EQ(look("tenants/acme").status, 404);
  EXPECT_EQ(make("tenants/acme", R"({"tier": "free"})").status, 404);
}

TEST_F(AdminTest, TiersAreListedWithTheirLimits) {
  serve_with_admin();
  const Reply list = look("tiers");
  ASSERT_EQ(list.status, 200) << list.text;
  const json::value& free = list.body.at("data").at(0);
  EXPECT_EQ(free.at("id"), "free");
  EXPECT_EQ(free.at("requests_per_minute"), 60);
  EXPECT_EQ(free.at("tokens_per_month"), nullptr);
  EXPECT_EQ(free.at("models"), nullptr);
  add_tenant("acme");
  EXPECT_EQ(get_with("/v1/admin/tiers", bearer(issue("acme"))).status, 403);
}

TEST_F(AdminTest, ATenantSaysWhatItHasUsedOfItsLimits) {
  serve_with_admin();
  add_tenant("acme", "free");
  const std::string key = bearer(issue("acme"));
  const auto used = [&](const char* limit) {
    return look("tenants/acme").body.at("limits").at(limit).at("used").to_number<std::int64_t>();
  };
  EXPECT_EQ(used("requests_per_minute"), 0);
  EXPECT_EQ(used("tokens_per_day"), 0);
  const Reply answer = post_with("/v1/chat/completions", chat_body(), key);
  ASSERT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(used("requests_per_minute"), 1);
  EXPECT_EQ(used("max_concurrent"), 0);
  EXPECT_EQ(used("tokens_per_day"), answer.body.at("usage").at("total_tokens").to_number<std::int64_t>());
  // A limit that the tier does not have is left out: `pro` has none for the day.
  ASSERT_EQ(make("tenants/acme", R"({"tier": "pro"})").status, 200);
  EXPECT_FALSE(look("tenants/acme").body.at("limits").as_object().contains("tokens_per_day"));
}

TEST_F(AdminTest, AKeyIsShownOnceAndWorksAtOnce) {
  serve_with_admin();
  ASSERT_EQ(make("tenants", R"({"name": "acme"})").status, 200);
  const Reply made = make("keys", R"({"tenant": "acme", "name": "laptop"})");
  ASSERT_EQ(made.status, 200) << made.text;
  const std::string text = text_at(made.body, "key");
  const std::string id = text_at(made.body, "id");
  EXPECT_EQ(get_with("/v1/models", bearer(text)).status, 200);
  const Reply shown = look("keys/" + id);
  EXPECT_EQ(shown.body.at("name"), "laptop");
  EXPECT_EQ(shown.body.at("status"), "active");
  EXPECT_FALSE(shown.body.as_object().contains("key"));
  const std::string list = look("keys?tenant=acme").text;
  EXPECT_EQ(list.find(text), std::string::npos);
  EXPECT_EQ(list.find("hash"), std::string::npos);

  const Reply rotated = exchange(net::post_request("/v1/admin/keys/" + id + "/rotate", "", admin_));
  ASSERT_EQ(rotated.status, 200) << rotated.text;
  EXPECT_EQ(get_with("/v1/models", bearer(text)).status, 401);
  const std::string next = text_at(rotated.body, "key");
  EXPECT_EQ(get_with("/v1/models", bearer(next)).status, 200);
  const Reply revoked = ask("DELETE", "/v1/admin/keys/" + text_at(rotated.body, "id"), admin_);
  EXPECT_EQ(revoked.body.at("status"), "revoked");
  EXPECT_EQ(get_with("/v1/models", bearer(next)).status, 401);
}

TEST_F(AdminTest, AWrongWishForAKeyIsNamed) {
  serve_with_admin();
  EXPECT_EQ(make("keys", R"({})").body.at("error").at("param"), "tenant");
  EXPECT_EQ(make("keys", R"({"tenant": "nobody"})").status, 404);
  EXPECT_EQ(make("keys", R"({"tenant": "ops", "scope": "root"})").body.at("error").at("param"), "scope");
  EXPECT_EQ(make("keys", R"({"tenant": "ops", "expires_at": 5})").body.at("error").at("param"), "expires_at");
  EXPECT_EQ(look("keys/nothing").status, 404);
  EXPECT_EQ(ask("DELETE", "/v1/admin/keys/nothing", admin_).status, 404);
}

}  // namespace
}  // namespace kvasir::api
