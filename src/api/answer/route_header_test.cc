#include <gtest/gtest.h>

#include <set>

#include "api/api_fixture.h"

namespace kvasir::api {
namespace {

using RouteHeaderTest = ApiTest;

TEST_F(RouteHeaderTest, WhoAsksIsToldWhyTheWorkerWasChosen) {
  serve(says("hello"));
  auto other = std::make_shared<router::ScriptedWorker>(says("hello"));
  worker_->set_report({.num_running = 4, .num_waiting = 9});
  router_.add_member("m", "far", other);
  net::LoopbackClient client(port_);
  client.send(net::post_request("/v1/chat/completions", chat_body(), "x-kvasir-explain: route\r\n"));
  const auto told = client.read_response();
  ASSERT_EQ(told->status, 200) << told->body;
  const std::string route = told->headers.at("x-kvasir-route");
  EXPECT_TRUE(route.starts_with("member=far; policy=cache; cached=0; load=0; near=1/2; scores=")) << route;
  EXPECT_NE(route.find("local:"), std::string::npos) << "the other member's score, too";
  client.send(net::post_request("/v1/chat/completions", chat_body()));
  EXPECT_FALSE(client.read_response()->headers.contains("x-kvasir-route")) << "only who asks is told";
}

TEST_F(RouteHeaderTest, AWorkerThatIsAloneWasNotChosen) {
  serve(says("hello"));
  net::LoopbackClient client(port_);
  client.send(net::post_request("/v1/chat/completions", chat_body(R"(, "stream": true)"),
                                "x-kvasir-explain: route\r\n"));
  EXPECT_EQ(client.read_response()->headers.at("x-kvasir-route"), "member=local; policy=only");
}

// Eight equal workers.
class AffinityTest : public ApiTest {
 protected:
  void SetUp() override {
    serve(says("hello"));
    for (int i = 0; i < 7; ++i)
      router_.add_member("m", fmt::format("w{}", i), std::make_shared<router::ScriptedWorker>(says("hello")));
  }
  // The worker that gets the request, as the route header says.
  std::string member_of(const std::string& path, const std::string& body) {
    net::LoopbackClient client(port_);
    client.send(net::post_request(path, body, "x-kvasir-explain: route\r\n"));
    const auto told = client.read_response();
    EXPECT_EQ(told->status, 200) << told->body;
    const std::string route = told->headers.at("x-kvasir-route");
    return route.substr(0, route.find(';'));
  }
  std::string new_chat(const std::string& more) {
    return fmt::format(R"({{"model": "m", "messages": [{{"role": "user", "content": "{0} {0} {0}"}}]{1}}})",
                       ++num_chats_, more);
  }
  int num_chats_ = 100000;
};

TEST_F(AffinityTest, RequestsWithOneKeyGoToOneWorker) {
  std::set<std::string> members;
  for (int key = 0; key < 16; ++key) {
    const std::string more = fmt::format(R"(, "prompt_cache_key": "key {}")", key);
    const std::string member = member_of("/v1/chat/completions", new_chat(more));
    EXPECT_EQ(member_of("/v1/chat/completions", new_chat(more)), member);
    EXPECT_EQ(member_of("/v1/responses", fmt::format(R"({{"model": "m", "input": "{}"{}}})", key, more)),
              member);
    members.insert(member);
  }
  EXPECT_GT(members.size(), 3u) << "different keys spread";
}

TEST_F(AffinityTest, SoDoTheTurnsOfAConversation) {
  std::set<std::string> members;
  for (int i = 0; i < 8; ++i) {
    const std::string id(post("/v1/conversations", R"({"model": "m"})").body.at("id").as_string());
    const std::string turns = "/v1/conversations/" + id + "/messages";
    const std::string member = member_of(turns, fmt::format(R"({{"content": "hello {}"}})", i));
    for (const char* words : {"and then?", "why?"}) {
      EXPECT_EQ(member_of(turns, fmt::format(R"({{"content": "{}"}})", words)), member);
      EXPECT_EQ(member_of("/v1/responses",
                          fmt::format(R"({{"model": "m", "conversation": "{}", "input": "{}"}})", id, words)),
                member);
    }
    members.insert(member);
  }
  EXPECT_GT(members.size(), 2u);
}

}  // namespace
}  // namespace kvasir::api
