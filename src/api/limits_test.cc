#include <gtest/gtest.h>

#include <string>

#include "api/answer/server_tools/server_tools_fixture.h"
#include "api/api_fixture.h"
#include "api/http/caller/rate_limit_headers.h"

namespace kvasir::api {
namespace {

using seam::TokenStream;
using wire::FinishReason;

constexpr int kPrompt = 21;  // number of tokens of chat_body()

class LimitsTest : public ApiTest {
 protected:
  Reply chat(const std::string& more = "") { return post("/v1/chat/completions", chat_body(more)); }
  static std::string error_at(const Reply& reply, const char* key) {
    return json::serialize(reply.body.at("error").at(key));
  }
  static bool says_so(const Reply& reply, const std::string& text) {
    return error_at(reply, "message").find(text) != std::string::npos;
  }
};

TEST(RateLimitHeaders, TimesAreWrittenAsTheirApisDo) {
  EXPECT_EQ(duration_text(0), "0s");
  EXPECT_EQ(duration_text(1), "1ms");
  EXPECT_EQ(duration_text(119'001), "120ms");
  EXPECT_EQ(duration_text(1'000'000), "1s");
  EXPECT_EQ(duration_text(7'660'000), "7.66s");
  EXPECT_EQ(duration_text(360'000'000), "6m0s");
  EXPECT_EQ(moment_text(1'800'000'000'000'001), "2027-01-15T08:00:01Z");
}

TEST_F(LimitsTest, WhoHasNoLimitsHearsNothingOfThem) {
  serve(says("Hello"));
  const Reply reply = chat();
  EXPECT_EQ(reply.status, 200);
  for (const auto& [name, value] : reply.headers)
    EXPECT_EQ(name.find("ratelimit"), std::string::npos) << name;
}

TEST_F(LimitsTest, EveryAnswerSaysHowTheCallerStands) {
  limit_callers({.requests_per_minute = 60, .tokens_per_minute = 6000});
  serve(says("Hello"));
  const Reply whole = chat(R"(, "max_tokens": 100)");
  ASSERT_EQ(whole.status, 200) << whole.text;
  EXPECT_EQ(whole.body.at("usage").at("total_tokens"), kPrompt + 5);
  EXPECT_EQ(whole.headers.at("x-ratelimit-limit-requests"), "60");
  EXPECT_EQ(whole.headers.at("x-ratelimit-remaining-requests"), "59");
  EXPECT_EQ(whole.headers.at("x-ratelimit-reset-requests"), "1s");
  EXPECT_EQ(whole.headers.at("x-ratelimit-limit-tokens"), "6000");
  EXPECT_EQ(whole.headers.at("x-ratelimit-remaining-tokens"), std::to_string(6000 - kPrompt - 5));
  EXPECT_EQ(whole.headers.at("x-ratelimit-reset-tokens"), "260ms");
  // A stream's headers are sent when it is admitted.
  const Reply stream = chat(R"(, "max_tokens": 100, "stream": true)");
  EXPECT_EQ(stream.headers.at("x-ratelimit-remaining-requests"), "58");
  EXPECT_EQ(stream.headers.at("x-ratelimit-remaining-tokens"), std::to_string(6000 - 2 * kPrompt - 105));
  EXPECT_EQ(get("/v1/models").headers.at("x-ratelimit-remaining-requests"), "58");
  EXPECT_FALSE(get("/health").headers.contains("x-ratelimit-limit-requests"));
}

TEST_F(LimitsTest, AnthropicsEndpointsHaveAnthropicsHeaders) {
  limit_callers({.requests_per_minute = 60, .tokens_per_minute = 6000});
  serve(says("Hello"));
  const std::string body =
      R"({"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": "hi"}]})";
  const Reply reply = post("/v1/messages", body);
  ASSERT_EQ(reply.status, 200) << reply.text;
  EXPECT_EQ(reply.headers.at("anthropic-ratelimit-requests-limit"), "60");
  EXPECT_EQ(reply.headers.at("anthropic-ratelimit-tokens-remaining"), std::to_string(6000 - kPrompt - 5));
  const std::string reset = reply.headers.at("anthropic-ratelimit-tokens-reset");
  EXPECT_TRUE(reset.size() == 20 && reset.starts_with("20") && reset.ends_with("Z")) << reset;
  EXPECT_FALSE(reply.headers.contains("x-ratelimit-limit-tokens"));
  limit_callers({.tokens_per_minute = 60});
  const Reply refused = post("/v1/messages", body);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(error_at(refused, "type"), "\"rate_limit_error\"");
}

TEST_F(LimitsTest, ARefusalSaysWhichLimitAndWhenToTryAgain) {
  limit_callers({.tokens_per_minute = 600});
  serve(says("Hello"));
  ASSERT_EQ(chat(R"(, "max_tokens": 100)").status, 200);
  const Reply refused = chat(R"(, "max_tokens": 570)");
  ASSERT_EQ(refused.status, 429);
  EXPECT_EQ(error_at(refused, "code"), "\"rate_limit_exceeded\"");
  for (const char* text : {"600 tokens per minute", "574 are left", "up to 591", "in 1.700 s"})
    EXPECT_TRUE(says_so(refused, text)) << refused.text;
  EXPECT_EQ(refused.headers.at("retry-after"), "2");
  EXPECT_EQ(refused.headers.at("retry-after-ms"), "1700");
  EXPECT_EQ(refused.headers.at("x-ratelimit-remaining-tokens"), "574");
  EXPECT_FALSE(refused.headers.contains("x-should-retry"));
  wall_clock_.advance(std::chrono::milliseconds(1700));
  EXPECT_EQ(chat(R"(, "max_tokens": 570)").status, 200);
}

TEST_F(LimitsTest, RequestsAndConcurrencyAreLimitedToo) {
  limit_callers({.requests_per_minute = 1});
  serve();
  net::LoopbackClient client(port_);
  client.send(net::post_request("/v1/chat/completions", chat_body()));
  const auto asked = worker_->wait_for(0);
  const Reply second = chat();
  EXPECT_EQ(second.status, 429);
  EXPECT_TRUE(says_so(second, "1 requests per minute")) << second.text;
  EXPECT_EQ(second.headers.at("retry-after"), "60");
  limit_callers({.max_concurrent = 1});
  const Reply third = chat();
  EXPECT_EQ(third.status, 429);
  EXPECT_TRUE(says_so(third, "1 of 1 concurrent requests")) << third.text;
  TokenStream::send({{asked.stream, {.tokens = router::byte_tokens("x"), .finish = FinishReason::stop}}});
  ASSERT_TRUE(client.read_response());
  // A client that has its answer may send the next request at once.
  client.send(net::post_request("/v1/chat/completions", chat_body()));
  worker_->wait_for(1);
}

TEST_F(LimitsTest, ABudgetThatIsSpentIsNoRateLimit) {
  limit_callers({.tokens_per_day = 200});
  serve(says("Hello"));
  ASSERT_EQ(chat(R"(, "max_tokens": 100)").status, 200);
  const Reply refused = chat(R"(, "max_tokens": 170)");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(error_at(refused, "code"), "\"insufficient_quota\"");
  EXPECT_EQ(error_at(refused, "type"), "\"insufficient_quota\"");
  EXPECT_TRUE(says_so(refused, "200 tokens a day")) << refused.text;
  EXPECT_EQ(refused.headers.at("retry-after"), std::to_string(16 * 3600));  // it is 08:00
  EXPECT_EQ(refused.headers.at("x-should-retry"), "false");
  wall_clock_.advance(std::chrono::hours(16));
  EXPECT_EQ(chat(R"(, "max_tokens": 170)").status, 200);
}

TEST_F(LimitsTest, WhatCouldNeverPassIsToldSo) {
  limit_callers({.tokens_per_minute = 600});
  serve(says("Hello"));
  const Reply refused = chat(R"(, "max_tokens": 600)");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(error_at(refused, "code"), "\"rate_limit_exceeded\"");
  EXPECT_TRUE(says_so(refused, "too large")) << refused.text;
  EXPECT_TRUE(says_so(refused, "621")) << refused.text;
  EXPECT_FALSE(refused.headers.contains("retry-after"));
  EXPECT_EQ(refused.headers.at("x-should-retry"), "false");
}

TEST_F(LimitsTest, WhoNamesNoLengthGetsAnAnswerThatFits) {
  limit_callers({.tokens_per_minute = 6000});
  serve(says("Hello"));
  // The limit would allow the whole context of 4,096 tokens. Half of the limit is left to other requests.
  ASSERT_EQ(chat().status, 200);
  EXPECT_EQ(worker_->wait_for(0).request.max_tokens, 3000 - kPrompt);
  // Fewer than 1,024 tokens are not worth an answer, unless the limit can never give more.
  limit_callers({.tokens_per_minute = 600});
  wall_clock_.advance(std::chrono::minutes(1));
  ASSERT_EQ(chat(R"(, "n": 2)").status, 200);
  EXPECT_EQ(worker_->wait_for(1).request.max_tokens, 300 - kPrompt);
  EXPECT_EQ(worker_->wait_for(2).request.max_tokens, 300 - kPrompt);
  EXPECT_EQ(tokens_left(), 600 - kPrompt - 10);
  EXPECT_EQ(chat().status, 429);
}

TEST_F(LimitsTest, AClientThatLeavesPaysForWhatItGot) {
  limit_callers({.tokens_per_minute = 6000});
  serve();
  net::LoopbackClient client(port_);
  client.send(net::post_request("/v1/chat/completions", chat_body(R"(, "stream": true, "max_tokens": 500)")));
  const auto asked = worker_->wait_for(0);
  EXPECT_EQ(tokens_left(), 6000 - kPrompt - 500);
  TokenStream::send(
      {{asked.stream,
        {.tokens = router::byte_tokens("half"), .usage = {.prompt_tokens = kPrompt, .output_tokens = 4}}}});
  client.read_until("half");
  client.reset();
  EXPECT_TRUE(eventually([&] { return tokens_left() == 6000 - kPrompt - 4; })) << tokens_left();
}

TEST_F(LimitsTest, AFailureCostsWhatWasMadeBeforeIt) {
  limit_callers({.requests_per_minute = 60, .tokens_per_minute = 6000});
  serve();
  const base::Error broken{base::ErrorCode::internal, "broken"};
  for (const bool with_token : {false, true}) {
    net::LoopbackClient client(port_);
    client.send(net::post_request("/v1/chat/completions", chat_body(R"(, "max_tokens": 500)")));
    const auto asked = worker_->wait_for(with_token ? 1 : 0);
    if (with_token)
      TokenStream::send(
          {{asked.stream,
            {.tokens = router::byte_tokens("ab"), .usage = {.prompt_tokens = kPrompt, .output_tokens = 2}}}});
    TokenStream::send({{asked.stream, {.error = broken}}});
    const auto response = client.read_response();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 500);
    const std::int64_t used = with_token ? kPrompt + 2 : 0;
    EXPECT_EQ(response->headers.at("x-ratelimit-remaining-tokens"), std::to_string(6000 - used));
    EXPECT_EQ(response->headers.at("x-ratelimit-remaining-requests"), with_token ? "59" : "60");
  }
  worker_->refuse_with({base::ErrorCode::exhausted, "full", {}, "rate_limit_exceeded", 1});
  EXPECT_EQ(chat(R"(, "max_tokens": 500)").status, 429);
  EXPECT_TRUE(eventually([&] { return tokens_left() == 6000 - kPrompt - 2; })) << tokens_left();
}

class LimitedToolsTest : public ServerToolsTest {};

TEST_F(LimitedToolsTest, RoundsAreOneRequestAndPayForAllTheirTokens) {
  limit_callers({.requests_per_minute = 60, .tokens_per_minute = 6000, .max_concurrent = 1});
  serve_calls(call_of("add"));
  const Reply reply = ask(R"(["add"])", R"(, "max_tokens": 400)");
  ASSERT_EQ(reply.status, 200) << reply.text;
  EXPECT_EQ(calls(reply).size(), 1u);
  const std::int64_t used = reply.body.at("usage").at("total_tokens").as_int64();
  EXPECT_EQ(reply.headers.at("x-ratelimit-remaining-tokens"), std::to_string(6000 - used));
  EXPECT_EQ(reply.headers.at("x-ratelimit-remaining-requests"), "59");
}

TEST_F(LimitedToolsTest, ARoundThatTheLimitRefusesEndsTheAnswer) {
  serve_calls(call_of("add"));
  const Reply free = ask(R"(["add"])", R"(, "max_tokens": 400)");
  const auto first = static_cast<std::int64_t>(worker_->wait_for(0).request.prompt.size());
  limit_callers({.tokens_per_minute = first + 400});
  const Reply refused = ask(R"(["add"])", R"(, "max_tokens": 400)");
  EXPECT_EQ(refused.status, 429) << refused.text;
  const auto made = static_cast<std::int64_t>(call_of("add").size());
  EXPECT_NEAR(static_cast<double>(tokens_left()), static_cast<double>(400 - made), 1);
}

}  // namespace
}  // namespace kvasir::api
