#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <string>

#include "base/json.h"
#include "net/http_server.h"
#include "net/loopback_client.h"
#include "net/test_certificate.h"

namespace kvasir::net {

enum class Layer { plain, tls };

// A server whose paths do one thing each. The tests of this folder use it over plain HTTP and TLS.
class ServerTest : public testing::TestWithParam<Layer> {
 protected:
  static constexpr std::chrono::seconds kPatience{20};

  // Starts the server with the options under test. Call it first.
  void serve(ServerOptions options = {}) {
    if (GetParam() == Layer::tls) {
      options.tls = certificate_.files();
      trust_ = certificate_.client();
    }
    options.wants_body = [](const HttpRequest& head) { return head.path != "/unwanted"; };
    server_ = std::make_unique<HttpServer>(
        std::move(options),
        [this](HttpRequest& request, Responder& responder) -> boost::asio::awaitable<void> {
          return answer(request, responder);
        });
    auto port = server_->start();
    ASSERT_TRUE(port.ok()) << port.error().message;
    port_ = *port;
  }
  LoopbackClient connect(int receive_buffer_bytes = 0) {
    LoopbackClient client(port_, receive_buffer_bytes);
    if (GetParam() == Layer::tls && client.connected()) client.start_tls(*trust_);
    return client;
  }

  // Checks that another, well-behaved client is served at this moment.
  void expect_undisturbed() {
    LoopbackClient client = connect();
    client.send(get_request("/hello"));
    const auto response = client.read_response();
    ASSERT_TRUE(response.has_value());
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->body, "hello");
  }

  // The code of a refusal in OpenAI's format.
  static std::string code_of(const RawResponse& response) {
    const auto parsed = base::parse_json(response.body);
    if (!parsed.ok()) return "not JSON: " + response.body;
    const auto& error = parsed->as_object().at("error").as_object();
    EXPECT_FALSE(error.at("message").as_string().empty());
    EXPECT_TRUE(error.at("type").is_string());
    EXPECT_TRUE(error.at("param").is_null());
    return std::string(error.at("code").as_string());
  }

  boost::asio::awaitable<void> answer(HttpRequest& request, Responder& responder) {
    if (request.path == "/hello") {
      (void)co_await responder.send(HttpResponse(200, "text/plain", "hello"));
    } else if (request.path == "/echo") {
      (void)co_await responder.send(HttpResponse(200, "text/plain", request.method + " " + request.body));
    } else if (request.path == "/mark") {
      // Records how many requests had come when the thread ran its next other task.
      boost::asio::post(responder.executor(),
                        [this] { num_requests_at_mark_ = server_->stats().requests.load(); });
      (void)co_await responder.send(HttpResponse(200, "text/plain", "marked"));
    } else if (request.path == "/large") {
      std::string body(std::stoul(request.query), 'x');
      (void)co_await responder.send(HttpResponse(200, "text/plain", std::move(body)));
    } else if (request.path == "/pieces") {
      co_await send_pieces(responder, std::stoi(request.query));
    } else if (request.path == "/throw") {
      throw std::runtime_error("a handler that throws");
    } else if (request.path == "/stream") {
      co_await stream(responder, std::stoi(request.query));
    } else if (request.path == "/cut") {
      auto writer = co_await responder.start_stream({});
      if (writer.ok()) (void)co_await (*writer)->write("data: half\n\n");
    } else if (request.path == "/wait") {
      co_await wait_for_disconnect(responder);
    } else if (request.path == "/flood") {
      co_await flood(responder);
    } else if (request.path != "/silent") {
      (void)co_await responder.send(HttpResponse::json(404, request.path + "?" + request.query));
    }
  }

  boost::asio::awaitable<void> stream(Responder& responder, int num_events) {
    auto writer = co_await responder.start_stream({});
    if (!writer.ok()) co_return;
    for (int i = 0; i < num_events; ++i) {
      const base::Status written = co_await (*writer)->write("data: " + std::to_string(i) + "\n\n");
      if (!written.ok()) co_return;
    }
    (void)co_await (*writer)->finish();
  }

  // Announces three pieces and sends `num_pieces` of them.
  boost::asio::awaitable<void> send_pieces(Responder& responder, int num_pieces) {
    HttpResponse head(200, "text/plain", "");
    auto writer = co_await responder.start_body(std::move(head), 9);
    for (int i = 0; writer.ok() && !(*writer)->complete() && i < num_pieces; ++i)
      (void)co_await (*writer)->write("abc");
  }

  // Ends only when the peer leaves.
  boost::asio::awaitable<void> wait_for_disconnect(Responder& responder) {
    boost::asio::steady_timer forever(responder.executor(), std::chrono::steady_clock::time_point::max());
    responder.on_disconnect([&forever] { forever.cancel(); });
    entered_.release();
    boost::system::error_code ignored;
    co_await forever.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
    left_.release();
  }

  // Streams until a write fails.
  boost::asio::awaitable<void> flood(Responder& responder) {
    auto writer = co_await responder.start_stream({});
    while (writer.ok()) {
      const base::Status written = co_await (*writer)->write("data: " + std::string(8000, 'x') + "\n\n");
      if (written.ok()) continue;
      flood_end_ = written.error().code;
      break;
    }
    left_.release();
  }

  TestCertificate certificate_;
  std::shared_ptr<const TlsContext> trust_;
  std::atomic<std::uint64_t> num_requests_at_mark_{0};
  std::unique_ptr<HttpServer> server_;
  std::uint16_t port_ = 0;
  std::counting_semaphore<> entered_{0};
  std::counting_semaphore<> left_{0};
  base::ErrorCode flood_end_ = base::ErrorCode::internal;
};

inline std::string name_of(const testing::TestParamInfo<Layer>& info) {
  return info.param == Layer::tls ? "Tls" : "Plain";
}

}  // namespace kvasir::net
