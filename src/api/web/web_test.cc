#include <gtest/gtest.h>

#include <string>

#include "api/key_fixture.h"
#include "api/web/web_assets.h"

namespace kvasir::api {
namespace {

TEST_F(KeyedApiTest, ThePageNeedsNoKeyAndLoadsNothingFromElsewhere) {
  serve();
  add_tenant("acme");
  issue("acme");
  Reply page = get_with("/", "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.headers["content-type"], "text/html; charset=utf-8");
  EXPECT_EQ(page.headers["cache-control"], "no-cache");
  EXPECT_NE(page.headers["content-security-policy"].find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(page.headers["content-security-policy"].find("unsafe"), std::string::npos);
  EXPECT_EQ(page.text.find("http"), std::string::npos) << "an address of another site";
  for (const WebAsset& asset : web_assets()) {
    Reply file = get("/assets/" + std::string(asset.name));
    EXPECT_EQ(file.status, 200) << asset.name;
    EXPECT_EQ(file.text, asset.plain) << asset.name;
    EXPECT_EQ(file.headers["content-type"], asset.content_type);
  }
  EXPECT_EQ(get("/assets/none.js").status, 404);
}

TEST_F(KeyedApiTest, WhoAsksForNoPageIsToldThatOllamaRuns) {
  serve();
  for (const char* accept : {"", "Accept: */*\r\n", "Accept: application/json\r\n"}) {
    const Reply reply = get_with("/", accept);
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.text, "Ollama is running");
    EXPECT_EQ(reply.headers.at("vary"), "Accept");
  }
  net::LoopbackClient client(port_);
  client.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto head = client.read_head();
  ASSERT_TRUE(head);
  EXPECT_EQ(head->status, 200);
}

TEST_F(KeyedApiTest, AnAssetIsSentOnceAndZipped) {
  serve();
  const WebAsset& asset = web_assets().front();
  const std::string path = "/assets/" + std::string(asset.name);
  Reply zipped = get_with(path, "Accept-Encoding: br, gzip\r\n");
  EXPECT_EQ(zipped.headers["content-encoding"], "gzip");
  EXPECT_EQ(zipped.headers["etag"], asset.etag);
  EXPECT_EQ(zipped.text, asset.gzipped);
  EXPECT_LT(asset.gzipped.size(), asset.plain.size());
  Reply known = get_with(path, "If-None-Match: " + std::string(asset.etag) + "\r\n");
  EXPECT_EQ(known.status, 304);
  EXPECT_TRUE(known.text.empty());
  EXPECT_EQ(get_with(path, "If-None-Match: \"other\"\r\n").status, 200);
}

}  // namespace
}  // namespace kvasir::api
