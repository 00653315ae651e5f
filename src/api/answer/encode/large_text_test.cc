#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <semaphore>
#include <string>
#include <vector>

#include "api/api_fixture.h"

namespace kvasir::api {
namespace {

// A chat whose text has `num_bytes` bytes. Each byte is a token; the model's longest token has 12 bytes.
std::string large_chat(std::size_t num_bytes, const std::string& more = "") {
  return R"({"model": "m", "messages": [{"role": "user", "content": ")" + std::string(num_bytes, 'x') +
         "\"}]" + more + "}";
}

// Tests large texts that arrive while another client's text keeps the tokenizing thread busy.
class LargeTextTest : public ApiTest {
 protected:
  ~LargeTextTest() override { let_go(); }

  void keep_tokenizing_busy() { keep_busy(api_.tokenizing()); }
  void keep_busy(TextQueue& queue) {
    blocker_->run = [this](const std::stop_token& stop) {
      begun_.release();
      while (!stop.stop_requested()) std::this_thread::yield();
    };
    ASSERT_TRUE(queue.add(blocker_).ok());
    begun_.acquire();
  }
  void let_go() {
    api_.tokenizing().give_up(blocker_);
    api_.compiling().give_up(blocker_);
  }

  std::shared_ptr<TextQueue::Entry> blocker_ = std::make_shared<TextQueue::Entry>();
  std::binary_semaphore begun_{0};
};

TEST_F(LargeTextTest, EarlierResponsesAreReadWhileGrammarsAreCompiled) {
  serve(says("Hello"), 50'000);
  const Reply first = post("/v1/responses", R"({"model": "m", "input": "hi"})");
  keep_busy(api_.compiling());
  const Reply second = post("/v1/responses", R"({"model": "m", "input": "go on", "previous_response_id": ")" +
                                                 std::string(first.body.at("id").as_string()) + "\"}");
  EXPECT_EQ(second.status, 200) << second.text;
}

// The text of earlier responses counts towards `max_bodies_bytes` until it has been tokenized.
TEST_F(LargeTextTest, EarlierResponsesThatWaitAreCounted) {
  server_options_.max_bodies_bytes = std::size_t{4} << 20;  // large bodies may use 3 MiB of it
  serve(says("Hello"), 3'000'000);
  const Reply first =
      post("/v1/responses", R"({"model": "m", "input": ")" + std::string(1'000'000, 'x') + "\"}");
  ASSERT_EQ(first.status, 200) << first.text.substr(0, 200);
  const std::string next = R"({"model": "m", "input": "go on", "previous_response_id": ")" +
                           std::string(first.body.at("id").as_string()) + "\"";
  keep_tokenizing_busy();
  std::vector<std::unique_ptr<net::LoopbackClient>> waiting;
  for (int i = 0; i < 3; ++i) {
    waiting.push_back(std::make_unique<net::LoopbackClient>(port_));
    waiting.back()->send(net::post_request("/v1/responses", next + R"(, "stream": true})"));
    waiting.back()->read_until(": ping\n\n");
  }
  const Reply refused = post("/v1/responses", next + "}");
  EXPECT_EQ(refused.status, 503) << refused.text;
  EXPECT_EQ(refused.body.at("error").at("code"), "server_overloaded");
  let_go();
  for (auto& client : waiting) client->read_until("response.completed");
}

TEST_F(LargeTextTest, AStreamsHeadersAndPingsDoNotWaitForItsText) {
  serve(says("Hello"), 50'000);
  keep_tokenizing_busy();
  net::LoopbackClient client(port_);
  client.send(net::post_request("/v1/chat/completions", large_chat(20'000, R"(, "stream": true)")));
  EXPECT_NE(client.read_until("\r\n\r\n").find("200 OK"), std::string::npos);
  client.read_until(": ping\n\n");
  client.read_until(": ping\n\n");
  let_go();
  EXPECT_TRUE(client.read_until("[DONE]").ends_with("[DONE]"));
  EXPECT_EQ(worker_->wait_for(0).request.prompt.front(), 256);
}

TEST_F(LargeTextTest, AnErrorFoundAfterTheHeadersIsTheStreamsLastEvent) {
  serve(says("Hello"), 4096);
  keep_tokenizing_busy();
  net::LoopbackClient client(port_);
  client.send(net::post_request("/v1/chat/completions", large_chat(20'000, R"(, "stream": true)")));
  client.read_until(": ping\n\n");
  let_go();
  const std::string rest = client.read_until("\r\n0\r\n\r\n");
  EXPECT_NE(rest.find("data: {\"error\""), std::string::npos) << rest;
  EXPECT_NE(rest.find("context_length_exceeded"), std::string::npos) << rest;
}

// A server that sends a stream's headers only after its text is tokenized, since it waits for up to 10
// minutes first.
class PatientTest : public ApiTest {
 protected:
  PatientTest() : ApiTest(std::chrono::minutes(10)) {}
};

TEST_F(PatientTest, AnErrorFoundAtOnceHasItsStatus) {
  serve(says("Hello"), 4096);
  const Reply tokens = post("/v1/chat/completions", large_chat(20'000, R"(, "stream": true)"));
  EXPECT_EQ(tokens.status, 400);
  EXPECT_EQ(tokens.body.at("error").at("code").as_string(), "context_length_exceeded");
}

TEST_F(LargeTextTest, TextThatCannotFitIsRefusedByItsBytes) {
  serve(says("Hello"), 4096);
  for (const char* path : {"/v1/chat/completions", "/v1/tokenize"}) {
    const Reply reply = post(path, large_chat(4096 * 12));
    EXPECT_EQ(reply.status, 400) << reply.text;
    EXPECT_EQ(reply.body.at("error").at("code").as_string(), "context_length_exceeded");
    const std::string message(reply.body.at("error").at("message").as_string());
    EXPECT_NE(message.find("4096 tokens"), std::string::npos) << message;
    EXPECT_NE(message.find("bytes"), std::string::npos) << message;
  }
  const std::string prompt =
      R"({"model": "m", "prompt": ")" + std::string(4096 * 12 - 1, 'x') + "\", \"max_tokens\": 1}";
  EXPECT_NE(post("/v1/completions", prompt).text.find("49151 tokens"), std::string::npos);
}

TEST_F(LargeTextTest, TheTextOfAClientThatLeftIsDropped) {
  serve(says("Hello"), 50'000);
  keep_tokenizing_busy();
  for (const char* path : {"/v1/chat/completions", "/v1/tokenize"}) {
    {
      net::LoopbackClient client(port_);
      client.send(net::post_request(path, large_chat(20'000)));
      ASSERT_TRUE(eventually([&] { return api_.num_busy() == 1; }));
    }
    EXPECT_TRUE(eventually([&] { return api_.num_busy() == 0; }));
  }
}

TEST_F(LargeTextTest, OneMoreThanMayWaitIsRefused) {
  serve(says("Hello"), 50'000);
  keep_tokenizing_busy();
  std::vector<std::unique_ptr<net::LoopbackClient>> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.push_back(std::make_unique<net::LoopbackClient>(port_));
    waiting.back()->send(net::post_request("/v1/tokenize", large_chat(20'000)));
  }
  ASSERT_TRUE(eventually([&] { return api_.tokenizing().num_waiting() == 4; }));
  net::LoopbackClient late(port_);
  late.send(net::post_request("/v1/tokenize", large_chat(20'000)));
  const auto refused = late.read_response();
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->status, 429);
  EXPECT_EQ(refused->headers.count("retry-after"), 1u);
  let_go();
  for (auto& client : waiting) EXPECT_EQ(client->read_response()->status, 200);
}

TEST_F(LargeTextTest, WhatStillWaitsWhenTheServerStopsIsToldSo) {
  serve(says("Hello"), 50'000);
  keep_tokenizing_busy();
  net::LoopbackClient client(port_);
  client.send(net::post_request("/v1/chat/completions", large_chat(20'000)));
  ASSERT_TRUE(eventually([&] { return api_.num_busy() == 1; }));
  api_.stop_text_work();
  EXPECT_EQ(client.read_response()->status, 503);
}

TEST_F(LargeTextTest, MoreAnswersThanTheQueueHoldsAreTheClientsMistake) {
  serve(says("Hello"));
  const Reply reply = post("/v1/chat/completions", chat_body(R"(, "n": 11)"));
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.body.at("error").at("param").as_string(), "n");
  EXPECT_EQ(post("/v1/chat/completions", chat_body(R"(, "n": 8)")).status, 200);
}

}  // namespace
}  // namespace kvasir::api
