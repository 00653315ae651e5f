#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "api/http/work/compressed_body.h"
#include "api/key_fixture.h"

namespace kvasir::api {
namespace {

const std::string kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string kTraceParent = "traceparent: 00-" + kTrace + "-00f067aa0ba902b7-01\r\n";

// Returns the samples without their values.
std::set<std::string> series_of(const std::string& exposition) {
  std::set<std::string> series;
  std::istringstream lines(exposition);
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with('#')) series.insert(line.substr(0, line.rfind(' ')));
  return series;
}

TEST_F(ApiTest, AnExemplarNamesTheTraceOfTheRequest) {
  serve(says("four"));
  const std::string text =
      exchange(net::post_request("/v1/chat/completions", chat_body(), kTraceParent)).text;
  const std::string accept = "accept: application/openmetrics-text; version=1.0.0\r\n";
  const Reply seen = exchange(net::get_request("/metrics", accept));
  EXPECT_EQ(seen.headers.at("content-type"), "application/openmetrics-text; version=1.0.0; charset=utf-8");
  const std::string exemplar = " # {trace_id=\"" + kTrace + "\"} ";
  for (const std::string name : {"llm_ttft_seconds", "llm_e2e_seconds"}) {
    const std::size_t at = seen.text.find("\n" + name + "_bucket");
    ASSERT_NE(at, std::string::npos) << seen.text;
    const std::string rows = seen.text.substr(at, seen.text.find(name + "_sum") - at);
    EXPECT_NE(rows.find(exemplar), std::string::npos) << rows;
  }
  EXPECT_TRUE(seen.text.ends_with("# EOF\n"));
  EXPECT_EQ(get("/metrics").text.find(kTrace), std::string::npos);
}

TEST_F(ApiTest, AnExemplarOfARequestWithoutATraceParentNamesTheTraceThatBeganHere) {
  serve(says("four"));
  for (const std::string& header : {"traceparent: 00-" + std::string(32, '"') + "-00f067aa0ba902b7-01\r\n",
                                    std::string("traceparent: 00\r\n")}) {
    const Reply reply = exchange(net::post_request("/v1/chat/completions", chat_body(), header));
    const std::string trace = reply.headers.at("traceparent").substr(3, 32);
    const Reply seen = exchange(net::get_request("/metrics", "accept: application/openmetrics-text\r\n"));
    EXPECT_NE(seen.text.find("trace_id=\"" + trace + "\""), std::string::npos);
    EXPECT_EQ(seen.text.find(std::string(32, '"')), std::string::npos);
  }
}

TEST_F(ApiTest, MetricsAreCompressedForThoseWhoTakeIt) {
  serve(says("four"));
  const Reply seen = exchange(net::get_request("/metrics", "accept-encoding: gzip\r\n"));
  EXPECT_EQ(seen.headers.at("content-encoding"), "gzip");
  const auto text = gunzip(seen.text, [](std::size_t) { return base::ok(); });
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_NE(text->find("\nllm_queue_depth{model=\"m\",priority=\"0\"} 0\n"), std::string::npos) << *text;
  EXPECT_LT(seen.text.size(), text->size());
}

TEST_F(ApiTest, RequestsAreCountedByHowTheyEnded) {
  serve(says("four"));
  post("/v1/chat/completions", chat_body());
  post("/v1/chat/completions", R"({"model": "none", "messages": [{"role": "user", "content": "hi"}]})");
  worker_->refuse_with({base::ErrorCode::exhausted, "full", {}, "rate_limit_exceeded"});
  post("/v1/chat/completions", chat_body());
  const std::string text = get("/metrics").text;
  const auto has = [&](const std::string& row) { return text.find("\n" + row + "\n") != std::string::npos; };
  EXPECT_TRUE(has(R"(llm_requests_total{model="m",class="unlimited",outcome="completed"} 1)")) << text;
  EXPECT_TRUE(has(R"(llm_requests_total{class="unlimited",outcome="refused"} 2)")) << text;
  EXPECT_TRUE(has(R"(llm_refusals_total{reason="model_not_found"} 1)")) << text;
  EXPECT_TRUE(has(R"(llm_refusals_total{reason="rate_limit_exceeded"} 1)")) << text;
  EXPECT_TRUE(has(R"(llm_ttft_seconds_count{model="m",class="unlimited"} 1)")) << text;
  EXPECT_TRUE(has(R"(llm_e2e_seconds_count{model="m",class="unlimited"} 1)")) << text;
}

TEST_F(ApiTest, ClientsCannotAddSeries) {
  serve(says("four"));
  const auto ask_oddly = [this](const std::string& odd) {
    const std::string chat =
        R"({"model": ")" + odd + R"(", "messages": [{"role": "user", "content": "hi"}]})";
    post("/v1/chat/completions", chat);
    post("/v1/chat/completions", chat_body(R"(, ")" + odd + R"(": 1)"));
    post("/v1/embeddings", R"({"model": ")" + odd + R"(", "input": "hi"})");
    get("/v1/models/" + odd);
    get("/" + odd);
    exchange(net::post_request("/v1/chat/completions", chat_body(),
                               "x-request-id: " + odd + "\r\nuser-agent: " + odd + "\r\n"));
  };
  ask_oddly("first");
  get("/metrics");
  const std::set<std::string> before = series_of(get("/metrics").text);
  for (int i = 0; i < 20; ++i) ask_oddly("odd" + std::to_string(i));
  EXPECT_EQ(series_of(get("/metrics").text), before);
}

TEST_F(KeyedApiTest, AThousandTenantsCostMetricsNothing) {
  serve(says("four"));
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; ++i) {
    const std::string tenant = "tenant" + std::to_string(i);
    add_tenant(tenant);
    keys.push_back(tenancy::issue_key(store_->accounts(), {.tenant = tenant}, 1).value().text);
  }
  ASSERT_TRUE(directory_->refresh().ok());
  const auto ask_with = [this](const std::string& key) {
    ASSERT_EQ(post_with("/v1/chat/completions", chat_body(), bearer(key)).status, 200);
  };
  ask_with(keys.front());
  // A request is counted only after its answer was sent.
  ASSERT_TRUE(
      eventually([&] { return registry_.text().find("kvasir_http_request_seconds") != std::string::npos; }));
  const std::size_t before = series_of(registry_.text()).size();
  for (std::size_t i = 0; i < keys.size(); i += 10) ask_with(keys[i]);
  EXPECT_EQ(series_of(registry_.text()).size(), before);
  auto best = std::chrono::steady_clock::duration::max();
  for (int i = 0; i < 50; ++i) {
    const auto start = std::chrono::steady_clock::now();
    ASSERT_FALSE(gzip(registry_.text()).empty());
    best = std::min(best, std::chrono::steady_clock::now() - start);
  }
  EXPECT_LT(best, std::chrono::milliseconds(5));
}

}  // namespace
}  // namespace kvasir::api
