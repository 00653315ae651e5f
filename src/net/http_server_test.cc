#include "net/http_server.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "net/server_fixture.h"

namespace kvasir::net {
namespace {

using namespace std::chrono_literals;
using HttpServerTest = ServerTest;
INSTANTIATE_TEST_SUITE_P(Over, HttpServerTest, testing::Values(Layer::plain, Layer::tls), name_of);

TEST_P(HttpServerTest, AnswersAndKeepsTheConnection) {
  serve();
  LoopbackClient client = connect();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client.send(post_request("/echo", "body " + std::to_string(i))));
    const auto response = client.read_response();
    ASSERT_TRUE(response.has_value());
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->body, "POST body " + std::to_string(i));
    EXPECT_EQ(response->headers.at("content-type"), "text/plain");
    EXPECT_EQ(response->headers.count("connection"), 0u);
  }
  EXPECT_EQ(server_->stats().accepted.load(), 1u);
  EXPECT_EQ(server_->stats().requests.load(), 3u);
}

TEST_P(HttpServerTest, AnswersPipelinedRequestsInOrder) {
  serve();
  LoopbackClient client = connect();
  std::string all;
  for (int i = 0; i < 20; ++i) all += post_request("/echo", std::to_string(i));
  ASSERT_TRUE(client.send(all));
  for (int i = 0; i < 20; ++i) {
    const auto response = client.read_response();
    ASSERT_TRUE(response.has_value());
    EXPECT_EQ(response->body, "POST " + std::to_string(i));
  }
}

TEST_P(HttpServerTest, StreamsEventsInChunksAndServesOn) {
  serve();
  LoopbackClient client = connect();
  client.send(get_request("/stream?3"));
  const auto response = client.read_response();
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->headers.at("content-type"), "text/event-stream; charset=utf-8");
  EXPECT_EQ(response->body, "data: 0\n\ndata: 1\n\ndata: 2\n\n");
  client.send(get_request("/hello"));
  EXPECT_EQ(client.read_response()->body, "hello");
}

TEST_P(HttpServerTest, AnUnfinishedStreamIsVisiblyCutOff) {
  serve();
  LoopbackClient client = connect();
  client.send(get_request("/cut"));
  EXPECT_NE(client.read_until("half\n\n").find("half"), std::string::npos);
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "\r\n");
}

TEST_P(HttpServerTest, AnswersInPiecesHaveTheirLength) {
  serve();
  LoopbackClient client = connect();
  for (int i = 0; i < 2; ++i) {
    client.send(get_request("/pieces?3"));
    const auto response = client.read_response();
    ASSERT_TRUE(response.has_value());
    EXPECT_EQ(response->headers.at("content-length"), "9");
    EXPECT_EQ(response->body, "abcabcabc");
  }
  client.send("HEAD /pieces?3 HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.read_head()->headers.at("content-length"), "9");
  client.send(get_request("/pieces?2"));
  EXPECT_FALSE(client.read_response().has_value()) << "an answer that was cut off";
}

TEST_P(HttpServerTest, SpeaksHttp10) {
  serve();
  LoopbackClient client = connect();
  client.send("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(client.read_response()->headers.at("connection"), "keep-alive");
  client.send("GET /stream?2 HTTP/1.0\r\n\r\n");
  const auto head = client.read_head();
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->headers.count("transfer-encoding"), 0u);
  EXPECT_EQ(client.read_until("data: 1\n\n"), "data: 0\n\ndata: 1\n\n");
  EXPECT_TRUE(client.at_end());
}

TEST_P(HttpServerTest, HeadHasTheHeadersOfGetAndNoBody) {
  serve();
  LoopbackClient client = connect();
  client.send("HEAD /echo HTTP/1.1\r\nHost: h\r\n\r\n");
  const auto head = client.read_head();
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->headers.at("content-length"), "4");  // "GET "
  client.send("HEAD /stream?5 HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.read_head()->status, 200);
  client.send(get_request("/hello"));
  EXPECT_EQ(client.read_response()->body, "hello");
}

TEST_P(HttpServerTest, HonoursConnectionClose) {
  serve();
  LoopbackClient client = connect();
  client.send(get_request("/hello", "Connection: close\r\n"));
  const auto response = client.read_response();
  EXPECT_EQ(response->headers.at("connection"), "close");
  EXPECT_TRUE(client.at_end());
}

TEST_P(HttpServerTest, ReadsChunkedBodies) {
  serve();
  LoopbackClient client = connect();
  client.send("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
  client.send("3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nTrailer: t\r\n\r\n");
  EXPECT_EQ(client.read_response()->body, "POST abcdefg");
  client.send(get_request("/hello"));
  EXPECT_EQ(client.read_response()->body, "hello");
}

TEST_P(HttpServerTest, SaysContinueToWhoWaitsForIt) {
  serve();
  LoopbackClient client = connect();
  client.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("ok");
  EXPECT_EQ(client.read_response()->body, "POST ok");
}

TEST_P(HttpServerTest, NoBodyIsAskedForWhereNobodyWantsIt) {
  serve();
  LoopbackClient unwanted = connect();
  unwanted.send("POST /unwanted HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  const auto response = unwanted.read_response();
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->status, 404);
  EXPECT_EQ(response->headers.at("connection"), "close");
  EXPECT_TRUE(unwanted.at_end());
  // HTTP/1.0 has no interim responses.
  LoopbackClient old = connect();
  old.send("POST /echo HTTP/1.0\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  expect_undisturbed();
  old.send("ab");
  EXPECT_EQ(old.read_response()->body, "POST ab");
}

TEST_P(HttpServerTest, DecodesTheTarget) {
  serve();
  LoopbackClient client = connect();
  client.send(get_request("/a%20b%2Fc?x=%20y"));
  EXPECT_EQ(client.read_response()->body, "/a b/c?x=%20y");
  client.send(get_request("http://host:80/absolute"));
  EXPECT_EQ(client.read_response()->body, "/absolute?");
}

TEST_P(HttpServerTest, AHandlerWithoutAnAnswerIsA500) {
  serve();
  for (const char* path : {"/silent", "/throw"}) {
    LoopbackClient client = connect();
    client.send(get_request(path));
    const auto response = client.read_response();
    ASSERT_TRUE(response.has_value());
    EXPECT_EQ(response->status, 500);
    EXPECT_EQ(code_of(*response), "internal_error");
    EXPECT_TRUE(client.at_end());
  }
}

TEST_P(HttpServerTest, TheApiOwnsTheShapeOfRefusals) {
  ServerOptions options;
  options.refusal = [](const RefusedRequest& r) {
    return HttpResponse(r.status, "text/plain", "mine: " + r.code + " " + r.request_id + r.origin);
  };
  serve(options);
  LoopbackClient client = connect();
  client.send("nonsense\r\n\r\n");
  EXPECT_EQ(client.read_response()->body, "mine: malformed_request ");
  LoopbackClient another = connect();
  another.send(get_request("/throw", "X-Request-Id: 7\r\nOrigin: https://a.example\r\n"));
  EXPECT_EQ(another.read_response()->body, "mine: internal_error 7https://a.example");
}

TEST_P(HttpServerTest, SeveralThreadsShareOnePort) {
  ServerOptions options;
  options.num_io_threads = 3;
  serve(options);
  std::vector<LoopbackClient> clients;
  for (int i = 0; i < 50; ++i) clients.push_back(connect());
  for (LoopbackClient& client : clients) client.send(get_request("/stream?2"));
  for (LoopbackClient& client : clients) EXPECT_EQ(client.read_response()->status, 200);
}

TEST_P(HttpServerTest, APortInUseIsAnError) {
  for (const int num_threads : {1, 2}) {
    ServerOptions options;
    options.num_io_threads = num_threads;
    serve(options);
    options.port = port_;
    HttpServer second(options, [](HttpRequest&, Responder&) -> boost::asio::awaitable<void> { co_return; });
    const auto started = second.start();
    ASSERT_FALSE(started.ok());
    EXPECT_NE(started.error().message.find(std::to_string(port_)), std::string::npos);
  }
}

TEST_P(HttpServerTest, StopAcceptingLetsRequestsFinish) {
  serve();
  LoopbackClient idle = connect();
  idle.send(get_request("/hello"));
  ASSERT_TRUE(idle.read_response().has_value());
  LoopbackClient busy = connect();
  busy.send(get_request("/wait"));
  ASSERT_TRUE(entered_.try_acquire_for(kPatience));
  server_->stop_accepting();
  EXPECT_TRUE(idle.at_end());
  EXPECT_FALSE(server_->wait_idle(0ns));
  busy.reset();
  EXPECT_TRUE(server_->wait_idle(kPatience));
  LoopbackClient late = connect();
  EXPECT_TRUE(!late.connected() || !late.send(get_request("/hello")) || late.at_end());
}

TEST_P(HttpServerTest, StopCutsRunningHandlers) {
  serve();
  LoopbackClient client = connect();
  client.send(get_request("/wait"));
  ASSERT_TRUE(entered_.try_acquire_for(kPatience));
  server_->stop();
  EXPECT_TRUE(left_.try_acquire());
  EXPECT_TRUE(client.at_end());
  server_->stop();
}

TEST(HttpServer, StopEndsAHandlerThatNeverLooks) {
  const auto held = std::make_shared<int>(0);
  std::binary_semaphore entered{0};
  HttpServer server({}, [&, held](HttpRequest&, Responder& responder) -> boost::asio::awaitable<void> {
    const std::shared_ptr<int> mine = held;
    boost::asio::steady_timer forever(responder.executor(), std::chrono::steady_clock::time_point::max());
    entered.release();
    co_await forever.async_wait(boost::asio::use_awaitable);
  });
  const auto port = server.start();
  ASSERT_TRUE(port.ok());
  LoopbackClient client(*port);
  client.send(get_request("/"));
  ASSERT_TRUE(entered.try_acquire_for(20s));
  server.stop();
  EXPECT_TRUE(client.at_end());
}

}  // namespace
}  // namespace kvasir::net
