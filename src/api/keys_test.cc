#include <string>

#include "api/key_fixture.h"

namespace kvasir::api {
namespace {

TEST_F(KeyedApiTest, WithoutKeysAnyKeyIsTaken) {
  serve(says("hello"));
  EXPECT_EQ(get_with("/v1/models", bearer("sk-whatever")).status, 200);
  EXPECT_EQ(get("/metrics").status, 200);
}

TEST_F(KeyedApiTest, EveryEndpointButHealthNeedsAKey) {
  serve(says("hello"));
  add_tenant("acme");
  const std::string key = issue("acme").text;
  for (const char* path : {"/v1/models", "/metrics", "/v1/conversations", "/openapi.json", "/docs",
                           "/v1/streams/x", "/v1/nothing"}) {
    const Reply reply = get(path);
    EXPECT_EQ(reply.status, 401) << path;
    EXPECT_EQ(reply.headers.at("www-authenticate"), "Bearer") << path;
  }
  EXPECT_EQ(get("/health/live").status, 200);
  EXPECT_EQ(get("/health/ready").status, 200);
  EXPECT_EQ(get_with("/v1/models", bearer(key)).status, 200);
  EXPECT_EQ(get_with("/v1/models", "authorization: bearer  " + key + "\r\n").status, 200);
  EXPECT_EQ(get_with("/v1/models", "x-api-key: " + key + "\r\n").status, 200);
  EXPECT_EQ(get_with("/v1/models", "Authorization: Basic eDp5\r\nx-api-key: " + key + "\r\n").status, 200);
  EXPECT_EQ(get_with("/v1/nothing", bearer(key)).status, 404);
  EXPECT_EQ(get_with("/docs", bearer(key)).status, 200);
}

TEST_F(KeyedApiTest, ErrorsHaveTheRoutesStyleAndSayNothingOfTheKey) {
  serve(says("hello"));
  add_tenant("acme");
  issue("acme");
  const std::string secret = "kv-not-a-key-but-secret";
  const Reply openai = post_with("/v1/chat/completions", chat_body(), bearer(secret));
  EXPECT_EQ(openai.status, 401);
  EXPECT_EQ(openai.body.at("error").at("type"), "invalid_request_error");
  EXPECT_EQ(openai.body.at("error").at("code"), "invalid_api_key");
  EXPECT_EQ(openai.text.find("secret"), std::string::npos);
  const Reply anthropic = post_with("/v1/messages", "{}", "x-api-key: " + secret + "\r\n");
  EXPECT_EQ(anthropic.status, 401);
  EXPECT_EQ(anthropic.body.at("type"), "error");
  EXPECT_EQ(anthropic.body.at("error").at("type"), "authentication_error");
}

TEST_F(KeyedApiTest, RefusesBeforeTheBodyIsSent) {
  serve(says("hello"));
  add_tenant("acme");
  issue("acme");
  net::LoopbackClient client(port_);
  client.send("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n");
  const auto response = client.read_response();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 401);
}

TEST_F(KeyedApiTest, RevokedAndExpiredKeysAreRefused) {
  serve(says("hello"));
  add_tenant("acme");
  const tenancy::IssuedKey revoked = issue("acme");
  const tenancy::IssuedKey expired = issue("acme", Scope::tenant, 2);
  EXPECT_EQ(get_with("/v1/models", bearer(revoked.text)).status, 200);
  EXPECT_EQ(get_with("/v1/models", bearer(expired.text)).status, 401);
  revoke(revoked);
  EXPECT_TRUE(eventually([&] { return get_with("/v1/models", bearer(revoked.text)).status == 401; }));
}

TEST_F(KeyedApiTest, AScopeReachesItsOwnEndpoints) {
  serve(says("hello"));
  add_tenant("acme");
  const std::string tenant = bearer(issue("acme").text);
  const std::string admin = bearer(issue("acme", Scope::admin).text);
  const std::string metrics = bearer(issue("acme", Scope::metrics).text);
  EXPECT_EQ(get_with("/metrics", metrics).status, 200);
  EXPECT_EQ(get_with("/metrics", admin).status, 200);
  EXPECT_EQ(get_with("/v1/models", tenant).status, 200);
  for (const auto& [path, headers] :
       {std::pair("/metrics", tenant), std::pair("/v1/models", metrics), std::pair("/v1/models", admin)}) {
    const Reply reply = get_with(path, headers);
    EXPECT_EQ(reply.status, 403) << path;
    EXPECT_EQ(reply.body.at("error").at("code"), "insufficient_scope");
  }
}

TEST_F(KeyedApiTest, ABrowserMayAskWhetherItMayAsk) {
  serve(says("hello"));
  add_tenant("acme");
  issue("acme");
  EXPECT_EQ(exchange("OPTIONS /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 204);
}

TEST_F(KeyedApiTest, TheEnginesHearWhoseItIs) {
  serve(says("hello"));
  add_tenant("acme", "enterprise");
  const std::string key = issue("acme").text;
  EXPECT_EQ(post_with("/v1/chat/completions", chat_body(), bearer(key)).status, 200);
  const wire::Origin& origin = worker_->wait_for(0).request.origin;
  EXPECT_EQ(origin.tenant, "acme");
  EXPECT_EQ(origin.cache_namespace, "acme");
  EXPECT_EQ(origin.weight, 16);
}

}  // namespace
}  // namespace kvasir::api
