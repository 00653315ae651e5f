#include <gtest/gtest.h>

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

}  // namespace
}  // namespace kvasir::api
