#include "api/http/caller/site_guard.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "api/api_fixture.h"

namespace kvasir::api {
namespace {

using Headers = std::vector<std::pair<std::string, std::string>>;

// Returns the code of the refusal; empty if the request is accepted.
std::string refusal(const SiteGuard& guard, const std::string& method, const Headers& headers) {
  net::HttpRequest head;
  head.method = method;
  head.path = "/v1/chat/completions";
  for (const auto& [name, value] : headers) head.headers.emplace_back(name, value);
  const auto refused = guard.refuse(head);
  return refused ? refused->code : "";
}

const SiteGuard kLoopback({"127.0.0.1", {}});
const SiteGuard kOpen({"0.0.0.0", {}});

TEST(SiteGuard, APageOfAnotherSiteIsRefused) {
  for (const char* origin :
       {"https://evil.example", "null", "http://localhost:3000", "http://localhost.evil.example",
        "chrome-extension://abc", "app://localhost:8000", "", "http://"})
    EXPECT_EQ(refusal(kLoopback, "POST", {{"Host", "localhost:8000"}, {"Origin", origin}}),
              "origin_not_allowed")
        << origin;
  for (const char* site : {"cross-site", "same-site"})
    for (const char* method : {"GET", "POST", "DELETE"})
      EXPECT_EQ(refusal(kLoopback, method, {{"Host", "localhost"}, {"Sec-Fetch-Site", site}}),
                "origin_not_allowed");
}

TEST(SiteGuard, ItsOwnPagesAndNoPagesAreTaken) {
  for (const SiteGuard* guard : {&kLoopback, &kOpen}) {
    EXPECT_EQ(refusal(*guard, "POST", {{"Host", "127.0.0.1:8000"}}), "");
    EXPECT_EQ(refusal(*guard, "POST", {}), "");
    EXPECT_EQ(refusal(*guard, "GET", {{"Host", "localhost"}, {"Sec-Fetch-Site", "none"}}), "");
    EXPECT_EQ(refusal(*guard, "GET", {{"Host", "localhost"}, {"Sec-Fetch-Site", "same-origin"}}), "");
    for (const char* own :
         {"localhost:8000", "127.0.0.1:8000", "[::1]:8000", "LocalHost:8000", "a.localhost:8000"})
      EXPECT_EQ(refusal(*guard, "POST", {{"Host", own}, {"Origin", std::string("http://") + own}}), "")
          << own;
    EXPECT_EQ(refusal(*guard, "POST", {{"Host", "localhost:80"}, {"Origin", "http://localhost"}}), "");
  }
  EXPECT_EQ(refusal(kOpen, "POST", {{"Host", "10.0.0.7:8000"}, {"Origin", "http://10.0.0.7:8000"}}), "");
}

TEST(SiteGuard, OpeningAnAddressIsNoCallOfAPage) {
  const Headers followed{
      {"Host", "localhost"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "navigate"}};
  EXPECT_EQ(refusal(kLoopback, "GET", followed), "");
  EXPECT_EQ(refusal(kLoopback, "POST", followed), "origin_not_allowed");
  EXPECT_EQ(refusal(kLoopback, "OPTIONS", {{"Host", "localhost"}, {"Origin", "https://evil.example"}}), "");
}

// DNS rebinding: the page's own name is made to point to this machine.
TEST(SiteGuard, AForeignNameIsNotThisServers) {
  for (const char* host : {"evil.example:8000", "127.0.0.1.evil.example", "10.0.0.7", "[::2]",
                           "localhost.evil.example", "", "["})
    EXPECT_EQ(refusal(kLoopback, "GET", {{"Host", host}}), "host_not_allowed") << host;
  for (const char* host :
       {"localhost", "localhost.:80", "127.9.8.7:1", "[::1]", "[::ffff:127.0.0.1]:80", "x.localhost"})
    EXPECT_EQ(refusal(kLoopback, "GET", {{"Host", host}}), "") << host;
  EXPECT_EQ(refusal(kOpen, "GET", {{"Host", "llm.example"}}), "");
  EXPECT_EQ(refusal(kOpen, "POST", {{"Host", "evil.example"}, {"Origin", "http://evil.example"}}),
            "origin_not_allowed");
}

TEST(SiteGuard, SitesOfTheSettingsAreTaken) {
  const SiteGuard listed({"127.0.0.1", {"https://chat.example"}});
  EXPECT_EQ(refusal(listed, "POST", {{"Host", "localhost"}, {"Origin", "https://chat.example"}}), "");
  // A proxy may pass on the name under which the client called it.
  EXPECT_EQ(refusal(listed, "POST", {{"Host", "chat.example"}, {"Origin", "https://chat.example"}}), "");
  EXPECT_EQ(refusal(listed, "GET", {{"Host", "chat.example"}}), "");
  EXPECT_EQ(refusal(listed, "POST", {{"Host", "localhost"}, {"Origin", "https://other.example"}}),
            "origin_not_allowed");
  EXPECT_EQ(refusal(listed, "POST", {{"Host", "localhost"}, {"Origin", "null"}}), "origin_not_allowed");
  const SiteGuard all({"127.0.0.1", {"*"}});
  EXPECT_EQ(refusal(all, "POST", {{"Host", "evil.example"}, {"Origin", "null"}}), "");
}

class SiteGuardTest : public ApiTest {
 protected:
  SiteGuardTest() {
    refuse_head_ = [](const net::HttpRequest& head) { return kLoopback.refuse(head); };
  }
};

TEST_F(SiteGuardTest, ARefusedRequestsBodyIsNotTaken) {
  serve(says("hi"));
  for (const auto& [path, type] : {std::pair("/v1/chat/completions", "invalid_request_error"),
                                   std::pair("/v1/messages", "permission_error")}) {
    net::LoopbackClient client(port_);
    // The answer comes although the client never sends the body.
    client.send("POST " + std::string(path) +
                " HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\nX-Request-Id: mine\r\n"
                "Content-Type: text/plain\r\nContent-Length: 1000\r\n\r\n{");
    const auto response = client.read_response();
    ASSERT_TRUE(response.has_value());
    EXPECT_EQ(response->status, 403);
    EXPECT_EQ(response->headers.at("x-request-id"), "mine");
    EXPECT_EQ(response->headers.at("connection"), "close");
    EXPECT_FALSE(response->headers.contains("access-control-allow-origin"));
    const json::value error = base::parse_json(response->body).value().at("error");
    EXPECT_EQ(error.at("type"), json::value(type));
    if (error.as_object().contains("code")) {
      EXPECT_EQ(error.at("code"), json::value("origin_not_allowed"));
    }
    EXPECT_NE(error.at("message").as_string().find("https://evil.example"), json::string::npos);
  }
  EXPECT_EQ(post("/v1/chat/completions", chat_body()).status, 200);
}

}  // namespace
}  // namespace kvasir::api
