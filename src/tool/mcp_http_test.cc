#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <future>
#include <thread>

#include "net/http_server.h"
#include "tool/mcp.h"
#include "tool/toolbox.h"

namespace kvasir::tool {
namespace {

using config::ToolConfig;

// An MCP server over streamable HTTP, and a toolbox that uses it.
class McpHttpTest : public testing::Test {
 protected:
  McpHttpTest() {
    server_ = std::make_unique<net::HttpServer>(
        net::ServerOptions{},
        [this](net::HttpRequest& request, net::Responder& responder) { return answer(request, responder); });
    port_ = server_->start().value();
  }
  ~McpHttpTest() override {
    box_.reset();
    if (server_) server_->stop();
  }
  void open() {
    ToolConfig row;
    row.kind = ToolConfig::Kind::mcp_http;
    row.name = "h";
    row.url = "http://127.0.0.1:" + std::to_string(port_) + "/mcp";
    row.headers = {{"Authorization", "Bearer secret"}};
    row.timeout_s = 20;
    row.max_output_bytes = 1024;
    box_ = Toolbox::open({row}).value();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!box_->find("h").ok() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    ASSERT_TRUE(box_->find("h").ok()) << box_->find("h").error().message;
  }
  Outcome call(const std::string& tool, const obs::TraceHeaders& trace = {}) {
    auto promise = std::make_shared<std::promise<Outcome>>();
    json::object arguments{{"a", 1}};
    box_->start({"h__" + tool, std::move(arguments), trace}, {},
                [promise](Outcome outcome) { promise->set_value(std::move(outcome)); });
    return promise->get_future().get();
  }

  static json::object result_for(const json::object& message) {
    const std::string method(message.at("method").as_string());
    if (method == "initialize") return {{"protocolVersion", "2025-06-18"}};
    if (method == "tools/list") {
      json::array tools;
      for (const char* name : {"plain", "streamed", "moved", "broken"})
        tools.push_back(json::object{{"name", name}, {"inputSchema", json::object{{"type", "object"}}}});
      return {{"tools", std::move(tools)}};
    }
    const json::object& params = message.at("params").as_object();
    const std::string text = base::json_text(params.at(params.contains("_meta") ? "_meta" : "arguments"));
    return {{"content", json::array{json::object{{"type", "text"}, {"text", text}}}}};
  }

  static std::string trace_of_message(const std::string& body) {
    return trace_of(base::parse_json(body).value().as_object()).traceparent;
  }

  boost::asio::awaitable<void> answer(net::HttpRequest& request, net::Responder& responder) {
    net::HttpResponse response(202, "", "");
    if (request.method == "DELETE") {
      ++num_deleted_;
      (void)co_await responder.send(std::move(response));
      co_return;
    }
    if (request.header("authorization") != "Bearer secret") ++num_wrong_;
    if (request.header("traceparent").value_or("") != trace_of_message(request.body)) ++num_wrong_;
    if (request.header("accept") != "application/json, text/event-stream") ++num_wrong_;
    const json::object message = base::parse_json(request.body).value().as_object();
    const json::value* method = message.if_contains("method");
    const bool opens = method != nullptr && *method == "initialize";
    const std::string session = "session-" + std::to_string(session_.load());
    if (opens) ++num_opened_;
    if (!opens && request.header("mcp-session-id") != session) {
      response.status = 404;
      (void)co_await responder.send(std::move(response));
      co_return;
    }
    if (!opens && request.header("mcp-protocol-version") != "2025-06-18") ++num_wrong_;
    if (method == nullptr) num_answers_ += message.contains("result") ? 1 : 0;
    if (method == nullptr || !message.contains("id")) {
      (void)co_await responder.send(std::move(response));
      co_return;
    }
    const json::object done{{"jsonrpc", "2.0"}, {"id", message.at("id")}, {"result", result_for(message)}};
    const json::value* params = message.if_contains("params");
    const json::value* name = params->as_object().if_contains("name");
    if (name != nullptr && *name == "streamed") {
      co_await stream(responder, base::json_text(done));
      co_return;
    }
    response = net::HttpResponse::json(200, base::json_text(done));
    if (opens) response.headers.emplace_back("Mcp-Session-Id", session);
    if (name != nullptr && *name == "moved") {
      response.status = 307;
      response.headers.emplace_back("Location", "/elsewhere");
    }
    if (name != nullptr && *name == "broken") response.status = 500;
    (void)co_await responder.send(std::move(response));
  }

  // Sends a progress message, a request from the server, and the answer. The stream stays open after that.
  boost::asio::awaitable<void> stream(net::Responder& responder, std::string done) {
    auto writer = co_await responder.start_stream({});
    if (!writer.ok()) co_return;
    std::string events =
        "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n";
    events += "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n\n";
    events += "data: " + done + "\n\n";
    (void)co_await (*writer)->write(std::move(events));
    boost::asio::steady_timer forever(responder.executor(), std::chrono::steady_clock::time_point::max());
    responder.on_disconnect([&forever] { forever.cancel(); });
    boost::system::error_code ignored;
    co_await forever.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
  }

  std::unique_ptr<net::HttpServer> server_;
  std::uint16_t port_ = 0;
  std::atomic<int> session_{1};
  std::atomic<int> num_opened_{0};
  std::atomic<int> num_deleted_{0};
  std::atomic<int> num_answers_{0};
  std::atomic<int> num_wrong_{0};
  std::unique_ptr<Toolbox> box_;
};

TEST_F(McpHttpTest, JsonAndStreamsAreRead) {
  open();
  EXPECT_EQ(box_->find("h")->size(), 4u);
  EXPECT_EQ(call("plain").text, R"({"a":1})");
  const Outcome streamed = call("streamed");
  EXPECT_FALSE(streamed.failed);
  EXPECT_EQ(streamed.text, R"({"a":1})");
  box_->stop();
  EXPECT_EQ(num_opened_, 1);
  EXPECT_EQ(num_deleted_, 1);
  EXPECT_EQ(num_answers_, 1);
  EXPECT_EQ(num_wrong_, 0);
}

TEST_F(McpHttpTest, ATraceIsPassedOnInTheMessageAndInTheHeaders) {
  open();
  const auto context =
      obs::parse_trace_context("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "v=1");
  const Outcome outcome = call("plain", obs::TraceHeaders(*context));
  EXPECT_EQ(
      outcome.text,
      R"({"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"v=1"})");
  EXPECT_EQ(num_wrong_, 0);
}

TEST_F(McpHttpTest, AForgottenSessionIsOpenedAnew) {
  open();
  ++session_;
  EXPECT_EQ(call("plain").text, R"({"a":1})");
  EXPECT_EQ(call("plain").text, R"({"a":1})");
  EXPECT_EQ(num_opened_, 2);
}

TEST_F(McpHttpTest, ErrorsAreOutcomes) {
  open();
  const Outcome moved = call("moved");
  EXPECT_TRUE(moved.failed);
  EXPECT_NE(moved.text.find("redirects"), std::string::npos) << moved.text;
  const Outcome broken = call("broken");
  EXPECT_TRUE(broken.failed);
  EXPECT_NE(broken.text.find("status 500"), std::string::npos) << broken.text;
}

TEST_F(McpHttpTest, AServerThatGoesIsReported) {
  open();
  server_->stop();
  server_.reset();
  EXPECT_TRUE(call("plain").failed);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (box_->find("h").ok() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_NE(box_->find("h").error().message.find("cannot be used now"), std::string::npos);
}

}  // namespace
}  // namespace kvasir::tool
