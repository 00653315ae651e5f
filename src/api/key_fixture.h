#pragma once

#include <string>

#include "api/api_fixture.h"
#include "tenancy/accounts.h"

namespace kvasir::api {

// The API with tenants and keys.
class KeyedApiTest : public ApiTest {
 protected:
  using Scope = store::KeyScope;
  using ApiTest::ApiTest;

  void add_tenant(const std::string& name, const std::string& tier = "pro",
                  const std::string& system_prompt = "") {
    ASSERT_TRUE(
        store_->accounts().add_tenant({.id = name, .tier = tier, .system_prompt = system_prompt}).ok());
  }
  tenancy::IssuedKey issue(const std::string& tenant, Scope scope = Scope::tenant,
                           std::int64_t expires_ms = 0) {
    auto issued = tenancy::issue_key(store_->accounts(),
                                     {.tenant = tenant, .scope = scope, .expires_ms = expires_ms}, 1);
    EXPECT_TRUE(directory_->refresh().ok());
    return issued.value();
  }
  void revoke(const tenancy::IssuedKey& key) {
    ASSERT_TRUE(store_->accounts().revoke_key(key.key.id, 1).ok());
  }

  static std::string bearer(const std::string& key) { return "Authorization: Bearer " + key + "\r\n"; }
  static std::string bearer(const tenancy::IssuedKey& key) { return bearer(key.text); }
  Reply ask(const std::string& method, const std::string& path, const std::string& headers) {
    return exchange(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
  }
  Reply get_with(const std::string& path, const std::string& headers) { return ask("GET", path, headers); }
  Reply post_with(const std::string& path, const std::string& body, const std::string& headers) {
    return exchange(net::post_request(path, body, headers + "Content-Type: application/json\r\n"));
  }
};

}  // namespace kvasir::api
