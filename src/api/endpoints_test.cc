#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>

#include "api/api_fixture.h"
#include "api/http/json/error_map.h"
#include "obs/log.h"

namespace kvasir::api {
namespace {

std::string error_at(const json::value& body, const char* key) {
  const json::value& value = body.at("error").at(key);
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

TEST(ErrorMap, StatusAndShape) {
  using base::ErrorCode;
  EXPECT_EQ(http_status({ErrorCode::invalid_argument, "why"}), 400);
  EXPECT_EQ(http_status({ErrorCode::unsupported, "why"}), 400);
  EXPECT_EQ(http_status({ErrorCode::not_found, "why"}), 404);
  EXPECT_EQ(http_status({ErrorCode::too_large, "why"}), 413);
  EXPECT_EQ(http_status({ErrorCode::exhausted, "why"}), 429);
  EXPECT_EQ(http_status({ErrorCode::unavailable, "why"}), 503);
  EXPECT_EQ(http_status({ErrorCode::timeout, "why"}), 504);
  EXPECT_EQ(http_status({ErrorCode::internal, "why"}), 500);
  EXPECT_EQ(
      json::serialize(error_body({ErrorCode::invalid_argument, "too hot", "temperature", "invalid_value"})),
      R"({"error":{"message":"Invalid 'temperature': too hot.","type":"invalid_request_error",)"
      R"("param":"temperature","code":"invalid_value"}})");
  EXPECT_EQ(json::serialize(error_body({ErrorCode::internal, "oops"})),
            R"({"error":{"message":"oops","type":"server_error","param":null,"code":null}})");
}

TEST(ErrorMap, RetryAfterIsWholeSeconds) {
  const auto response =
      error_response({.code = base::ErrorCode::unavailable, .message = "loading", .retry_after_s = 2.2});
  EXPECT_EQ(response.status, 503);
  ASSERT_EQ(response.headers.size(), 2u);
  EXPECT_EQ(response.headers[0].name, "Retry-After");
  EXPECT_EQ(response.headers[0].value, "3");
  EXPECT_EQ(response.headers[1].name, "retry-after-ms");
  EXPECT_EQ(response.headers[1].value, "2200");
}

TEST_F(ApiTest, PathsThatClientsLookForAreFound) {
  serve(says("x"));
  EXPECT_EQ(get("/health").status, 200);
  EXPECT_EQ(get("/v1/models/").body.at("data").as_array().size(), 1u);
  EXPECT_EQ(get("/models/m").body.at("id"), "m");
  EXPECT_EQ(post("/chat/completions", chat_body()).status, 200);
  const Reply info = get("/tokenizer_info");
  EXPECT_EQ(info.body.at("model"), "m") << info.text;
  EXPECT_TRUE(info.body.at("chat_template").is_string());
  EXPECT_EQ(get("/tokenizer_info?model=none").status, 404);
}

TEST_F(ApiTest, UsageInEveryChunkIsThatSoFar) {
  serve(says("abc"));
  const Reply reply = post(
      "/v1/chat/completions",
      chat_body(
          R"(, "stream": true, "stream_options": {"include_usage": true, "continuous_usage_stats": true})"));
  std::vector<std::int64_t> seen;
  for (const json::value& event : events_of(reply.text))
    seen.push_back(event.at_pointer("/usage/completion_tokens").to_number<std::int64_t>());
  EXPECT_TRUE(std::ranges::is_sorted(seen)) << reply.text;
  EXPECT_EQ(seen.front(), 0);
  EXPECT_EQ(seen.back(), 3);
}

TEST_F(ApiTest, APromptIsTruncatedWhereTheRequestSaysSo) {
  serve(says("x"));
  ASSERT_EQ(
      post("/v1/completions", R"({"model": "m", "prompt": "abcdef", "truncate_prompt_tokens": 2})").status,
      200);
  EXPECT_EQ(router::byte_tokenizer()->decode(worker_->wait_for(0).request.prompt), "ef");
  const Reply echoed = post(
      "/v1/completions", R"({"model": "m", "prompt": "abcdef", "truncate_prompt_tokens": 2, "echo": true})");
  EXPECT_EQ(echoed.body.at_pointer("/choices/0/text"), "efx") << "the model has read no more";
}

TEST_F(ApiTest, UnknownPathsAndMethods) {
  serve();
  const Reply unknown = get("/v2/nothing");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(error_at(unknown.body, "code"), "unknown_url");
  EXPECT_EQ(get("/%ff%fe").status, 404);
  EXPECT_FALSE(get("/%ff%fe").body.is_null());  // the answer is valid JSON even if the path is not UTF-8
  const Reply wrong = get("/v1/chat/completions");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.headers.at("allow"), "POST");
  EXPECT_EQ(error_at(wrong.body, "code"), "method_not_allowed");
  EXPECT_EQ(exchange("OPTIONS /v1/models HTTP/1.1\r\nHost: x\r\n\r\n").headers.at("allow"), "GET, OPTIONS");
}

TEST_F(ApiTest, RequestIdIsTheClientsWhereSane) {
  serve();
  EXPECT_EQ(exchange(net::get_request("/v1/models", "X-Request-Id: abc-1\r\n")).headers.at("x-request-id"),
            "abc-1");
  EXPECT_TRUE(exchange(net::get_request("/v1/models", "X-Request-Id: " + std::string(200, 'a') + "\r\n"))
                  .headers.at("x-request-id")
                  .starts_with("req-"));
}

TEST_F(ApiTest, ListsModels) {
  serve();
  router_.add("other/name");
  const Reply list = get("/v1/models");
  ASSERT_EQ(list.status, 200);
  EXPECT_EQ(list.body.at("object"), "list");
  const json::value& first = list.body.at("data").at(0);
  EXPECT_EQ(first.at("id"), "m");
  EXPECT_EQ(first.at("object"), "model");
  EXPECT_EQ(first.at("ready"), true);
  EXPECT_EQ(first.at("max_model_len"), 4096);
  EXPECT_EQ(list.body.at("data").at(1).at("ready"), false);
  // These are the fields of Anthropic's API.
  EXPECT_EQ(first.at("type"), "model");
  EXPECT_EQ(first.at("display_name"), "m");
  EXPECT_EQ(first.at("created_at").as_string().size(), std::string_view("2025-01-01T00:00:00Z").size());
  EXPECT_EQ(list.body.at("has_more"), false);
  EXPECT_EQ(get("/v1/models/m").body, first);
  EXPECT_EQ(get("/v1/models/other/name").body.at("id"), "other/name");
  EXPECT_EQ(error_at(get("/v1/models/nope").body, "code"), "model_not_found");
}

TEST_F(ApiTest, ModelsThatAreNotThereOrNotReady) {
  serve();
  router_.add("slow");
  router_.set_state("slow", {.phase = router::Phase::downloading, .progress = 0.5});
  const std::string rest = R"(", "messages": [{"role": "user", "content": "hi"}]})";
  const Reply missing = post("/v1/chat/completions", R"({"model": "nope)" + rest);
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(error_at(missing.body, "code"), "model_not_found");
  EXPECT_EQ(error_at(missing.body, "param"), "model");
  const Reply slow = post("/v1/chat/completions", R"({"model": "slow)" + rest);
  EXPECT_EQ(slow.status, 503);
  EXPECT_EQ(slow.headers.at("retry-after"), "10");
  EXPECT_NE(error_at(slow.body, "message").find("50 %"), std::string::npos);
}

TEST_F(ApiTest, Tokenizes) {
  serve();
  const Reply text = post("/v1/tokenize", R"({"model": "m", "prompt": "ab", "return_token_strs": true})");
  EXPECT_EQ(json::serialize(text.body),
            R"({"count":2,"max_model_len":4096,"tokens":[97,98],"token_strs":["a","b"]})");
  const Reply chat = post("/v1/tokenize", chat_body());
  EXPECT_EQ(chat.body.at("tokens").at(0), 256);
  EXPECT_EQ(error_at(post("/v1/tokenize", R"({"model": "m"})").body, "param"), "prompt");
  const Reply both = post("/v1/tokenize", chat_body(R"(, "prompt": "ab")"));
  EXPECT_EQ(both.status, 400);
  EXPECT_EQ(error_at(both.body, "param"), "prompt");
  EXPECT_EQ(post("/tokenize", R"({"prompt": "x"})").body.at("count"), 1);  // the only model is used
  router_.add("n");
  EXPECT_EQ(error_at(post("/v1/tokenize", R"({"prompt": "x"})").body, "param"), "model");
  EXPECT_EQ(error_at(post("/v1/detokenize", R"({"tokens": [1]})").body, "param"), "model");
}

TEST_F(ApiTest, HealthTellsLiveReadyAndProgressingApart) {
  serve();
  EXPECT_EQ(get("/health/live").status, 200);
  EXPECT_EQ(get("/health/ready").status, 200);
  EXPECT_EQ(get("/health/progress").status, 200);
  worker_->set_report({.progressing = false});
  EXPECT_EQ(get("/health/ready").status, 200);
  EXPECT_EQ(get("/health/progress").status, 503);
  router_.set_failed("m", "bad.gguf: not a model");
  const Reply failed = get("/health/ready");
  EXPECT_EQ(failed.status, 503);
  EXPECT_EQ(failed.body.at("models").at("m").at("state"), "failed");
  EXPECT_EQ(failed.body.at("models").at("m").at("reason"), "bad.gguf: not a model");
  EXPECT_EQ(get("/health/live").status, 200);
}

TEST_F(ApiTest, DrainingRefusesWhatIsNewAndFinishesWhatRuns) {
  serve();
  net::LoopbackClient running(port_);
  running.send(net::post_request("/v1/chat/completions", chat_body(R"(, "stream": true)")));
  const auto asked = worker_->wait_for(0);
  EXPECT_EQ(api_.num_busy(), 1);
  api_.drain();
  const Reply refused = post("/v1/chat/completions", chat_body());
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(error_at(refused.body, "code"), "server_draining");
  EXPECT_EQ(refused.headers.at("connection"), "close");
  EXPECT_EQ(get("/health/ready").status, 503);
  EXPECT_EQ(get("/health/live").status, 200);
  seam::TokenStream::send(
      {{asked.stream, {.tokens = router::byte_tokens("end"), .finish = wire::FinishReason::stop}}});
  EXPECT_NE(running.read_response()->body.find("[DONE]"), std::string::npos);
  EXPECT_TRUE(eventually([&] { return api_.num_busy() == 0; }));
}

TEST_F(ApiTest, BodiesThatAreNotJson) {
  serve();
  EXPECT_EQ(post("/v1/chat/completions", "").status, 400);
  EXPECT_EQ(post("/v1/chat/completions", "{\"model\": \"m\",").status, 400);
  EXPECT_EQ(post("/v1/chat/completions", "{\"model\": \"\xff\"}").status, 400);
  EXPECT_NE(error_at(post("/v1/chat/completions", std::string(1000000, '[')).body, "message").find("deep"),
            std::string::npos);
}

TEST_F(ApiTest, RefusalsBeforeAnyEndpointHaveARequestId) {
  serve();
  const Reply large = exchange(
      net::post_request("/v1/chat/completions", std::string(2 << 20, ' '), "X-Request-Id: mine\r\n"));
  EXPECT_EQ(large.status, 413);
  EXPECT_EQ(large.headers.at("x-request-id"), "mine");
  EXPECT_EQ(error_at(large.body, "code"), "request_too_large");
  for (const char* request : {"nonsense\r\n\r\n", "GET / HTTP/3.0\r\n\r\n", "GET / HTTP/1.1\r\n\r\n"})
    EXPECT_TRUE(exchange(request).headers.at("x-request-id").starts_with("req-")) << request;
}

// Collects the log's lines while it lives.
class LogLines {
 public:
  LogLines() {
    obs::Log::redirect([this](std::string_view line) {
      const std::lock_guard lock(mutex_);
      lines_.emplace_back(line);
    });
    obs::Log::set_level(obs::LogLevel::debug);
  }
  ~LogLines() {
    obs::Log::set_level(obs::LogLevel::info);
    obs::Log::redirect({});
  }
  LogLines(const LogLines&) = delete;
  LogLines& operator=(const LogLines&) = delete;

  // The first line that contains all of `parts`; empty if there is none.
  std::string find(std::initializer_list<std::string_view> parts) const {
    const std::lock_guard lock(mutex_);
    for (const std::string& line : lines_)
      if (std::all_of(parts.begin(), parts.end(),
                      [&](std::string_view part) { return line.find(part) != std::string::npos; }))
        return line;
    return {};
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;  // guarded by mutex_
};

TEST_F(ApiTest, AProbeThatIsToldToWaitIsNoWarning) {
  const LogLines log;
  serve(says("Hello"));
  api_.drain();
  EXPECT_EQ(get("/health/ready").status, 503);
  EXPECT_TRUE(eventually([&] { return !log.find({"debug", "route=/health/ready", "status=503"}).empty(); }));
  EXPECT_EQ(log.find({"warn", "route=/health/ready"}), "");
}

TEST_F(ApiTest, EachRequestIsALineOfTheLog) {
  const LogLines log;
  serve(says("secret words"));
  const std::string id =
      post("/v1/chat/completions", chat_body(R"(, "temperature": 0.5)")).headers.at("x-request-id");
  std::string line;
  ASSERT_TRUE(eventually([&] { return !(line = log.find({"request id=" + id})).empty(); }));
  for (const char* part : {"info", "method=POST", "route=/v1/chat/completions", "status=200", "model=m",
                           "cached_tokens=2", "output_tokens=12", "ttft_ms=", "total_ms=", "finish=stop"})
    EXPECT_NE(line.find(part), std::string::npos) << line;
  EXPECT_EQ(log.find({"secret"}), "");
  post("/v1/chat/completions", chat_body(R"(, "n": 0)"));
  EXPECT_TRUE(eventually([&] { return !log.find({"info", "status=400 error=invalid_value"}).empty(); }));
  worker_->refuse_with({base::ErrorCode::internal, "broken"});
  post("/v1/chat/completions", chat_body());
  EXPECT_TRUE(eventually([&] { return !log.find({"warn", "status=500"}).empty(); }));
}

TEST_F(ApiTest, MetricsCountRequestsAndTokens) {
  serve(says("four"));
  post("/v1/chat/completions", chat_body());
  post("/v1/chat/completions", chat_body(R"(, "n": 0)"));
  const Reply metrics = get("/metrics");
  EXPECT_TRUE(metrics.headers.at("content-type").starts_with("text/plain; version=0.0.4"));
  const auto has = [&](const char* line) { return metrics.text.find(line) != std::string::npos; };
  EXPECT_TRUE(has("kvasir_http_requests_total{endpoint=\"/v1/chat/completions\",status=\"200\"} 1\n"));
  EXPECT_TRUE(has("kvasir_http_requests_total{endpoint=\"/v1/chat/completions\",status=\"400\"} 1\n"));
  EXPECT_TRUE(has("llm_tokens_total{model=\"m\",kind=\"output\"} 4\n")) << metrics.text;
  EXPECT_TRUE(has("llm_ttft_seconds_count{model=\"m\",class=\"unlimited\"} 1\n"));
}

}  // namespace
}  // namespace kvasir::api
