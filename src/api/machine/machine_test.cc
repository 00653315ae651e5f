#include <gtest/gtest.h>

#include <string>

#include "api/key_fixture.h"

namespace kvasir::api {
namespace {

const std::string kStreamed = R"(, "stream": true)";
const std::string kKept = R"(, "stream": true, "stream_options": {"resumable": true})";

void feed_text(const router::ScriptedWorker::Asked& asked, const std::string& text) {
  seam::TokenStream::send({{asked.stream, {.tokens = router::byte_tokens(text)}}});
}

std::string header_in(const std::string& head, const std::string& name) {
  const std::size_t at = head.find(name + ": ");
  EXPECT_NE(at, std::string::npos) << head;
  const std::size_t begin = at + name.size() + 2;
  return head.substr(begin, head.find('\r', begin) - begin);
}

TEST_F(ApiTest, TheMachineIsDescribedAgainAndAgain) {
  serve(says("hello"));
  ASSERT_EQ(post("/v1/chat/completions", chat_body()).status, 200);
  EXPECT_EQ(
      post("/v1/chat/completions", R"({"model": "none", "messages": [{"role": "user", "content": "hi"}]})")
          .status,
      404);
  net::LoopbackClient watcher(port_);
  watcher.send(net::get_request("/v1/machine/events"));
  EXPECT_NE(watcher.read_until("event: look").find(R"("latency_bounds":[)"), std::string::npos);
  const std::string first = watcher.read_until("event: look");
  EXPECT_NE(first.find(R"("name":"m","state":"ready")"), std::string::npos) << first;
  EXPECT_NE(first.find(R"("refusals":{"model_not_found":1})"), std::string::npos) << first;
  EXPECT_NE(first.find(R"("goodput":{)"), std::string::npos) << first;
  EXPECT_NE(first.find(R"("totals":{"completed":1,"failed":0,"aborted":0,"prompt_tokens":19,)"
                       R"("cached_tokens":2,"output_tokens":5})"),
            std::string::npos)
      << first;
  EXPECT_NE(watcher.read_until("event: look").find(R"("counters":{"steps":)"), std::string::npos);
}

TEST_F(ApiTest, WatchersAreSentAwayWhenTheServerDrains) {
  serve();
  net::LoopbackClient watcher(port_);
  watcher.send(net::get_request("/v1/machine/events"));
  watcher.read_until("event: look");
  api_.drain();
  EXPECT_NE(watcher.read_until("\r\n0\r\n\r\n"), "");
}

TEST_F(KeyedApiTest, OnlyAnAdminSeesTheMachine) {
  serve();
  add_tenant("acme");
  const tenancy::IssuedKey tenant = issue("acme");
  const tenancy::IssuedKey metrics = issue("acme", Scope::metrics);
  const tenancy::IssuedKey admin = issue("acme", Scope::admin);
  EXPECT_EQ(get_with("/v1/machine/events", "").status, 401);
  EXPECT_EQ(get_with("/v1/machine/events", bearer(tenant)).status, 403);
  EXPECT_EQ(get_with("/v1/machine/events", bearer(metrics)).status, 403);
  EXPECT_EQ(ask("DELETE", "/v1/machine/requests/r", bearer(tenant)).status, 403);
  net::LoopbackClient watcher(port_);
  watcher.send(net::get_request("/v1/machine/events", bearer(admin)));
  EXPECT_NE(watcher.read_until("event: look").find("200 OK"), std::string::npos);
  revoke(admin);
  ASSERT_TRUE(directory_->refresh().ok());
  EXPECT_NE(watcher.read_until("\r\n0\r\n\r\n"), "");
}

TEST_F(ApiTest, AnOperatorCancelsARequest) {
  serve();
  net::LoopbackClient client(port_);
  client.send(net::post_request("/v1/chat/completions", chat_body(kStreamed), "x-request-id: long-one\r\n"));
  const auto asked = worker_->wait_for(0);
  feed_text(asked, "one ");
  client.read_until("one ");
  const Reply cancelled =
      exchange("DELETE /v1/machine/requests/long-one HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(cancelled.status, 200) << cancelled.text;
  const std::string rest = client.read_until("\r\n0\r\n");
  EXPECT_NE(rest.find(R"("code":"request_cancelled")"), std::string::npos) << rest;
  EXPECT_TRUE(asked.stream->cancelled());
}

TEST_F(ApiTest, ARequestThatIsNotStreamedIsCancelledWithItsStatus) {
  serve();
  net::LoopbackClient client(port_);
  client.send(net::post_request("/v1/chat/completions", chat_body(), "x-request-id: whole\r\n"));
  worker_->wait_for(0);
  EXPECT_EQ(exchange("DELETE /v1/machine/requests/whole HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 200);
  const auto response = client.read_response();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 499);
  EXPECT_NE(response->body.find("request_cancelled"), std::string::npos);
}

TEST_F(KeyedApiTest, ATenantEndsItsOwnStreamAndNoOthers) {
  serve();
  add_tenant("acme");
  add_tenant("beta");
  const std::string acme = bearer(issue("acme"));
  const std::string beta = bearer(issue("beta"));
  const Reply made = post_with("/v1/conversations", R"({"model": "m"})", acme);
  const std::string path = "/v1/conversations/" + std::string(made.body.at("id").as_string()) + "/messages";
  net::LoopbackClient client(port_);
  client.send(net::post_request(path, R"({"content": "hi")" + kKept + "}", acme));
  const auto asked = worker_->wait_for(0);
  const std::string id = header_in(client.read_until("\r\n\r\n"), "x-stream-id");
  feed_text(asked, "one ");
  client.read_until("one ");
  EXPECT_EQ(ask("DELETE", "/v1/streams/" + id, beta).status, 404);
  EXPECT_FALSE(asked.stream->cancelled());
  const Reply ended = ask("DELETE", "/v1/streams/" + id, acme);
  EXPECT_TRUE(ended.body.at("cancelled").as_bool()) << ended.text;
  EXPECT_NE(client.read_until("\r\n0\r\n").find("request_cancelled"), std::string::npos);
  const Reply messages = get_with(path, acme);
  const json::value& answer = messages.body.at("data").as_array().back();
  EXPECT_EQ(answer.at("status"), "incomplete");
  EXPECT_EQ(answer.at("finish_reason"), "cancelled");
  EXPECT_EQ(answer.at("content"), "one ");
}

}  // namespace
}  // namespace kvasir::api
