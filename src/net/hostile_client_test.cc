#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>
#include <vector>

#include "net/server_fixture.h"

namespace kvasir::net {
namespace {

using namespace std::chrono_literals;
using HostileClientTest = ServerTest;
INSTANTIATE_TEST_SUITE_P(Over, HostileClientTest, testing::Values(Layer::plain, Layer::tls), name_of);

TEST_P(HostileClientTest, SlowLorisGets408) {
  ServerOptions options;
  options.header_timeout = 500ms;
  serve(options);
  LoopbackClient client = connect();
  client.send("GET /hello HTTP/1.1\r\nHost: ");
  expect_undisturbed();
  const auto response = client.read_response();
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->status, 408);
  EXPECT_EQ(code_of(*response), "header_timeout");
  EXPECT_EQ(response->headers.at("connection"), "close");
  EXPECT_TRUE(client.at_end());
}

TEST_P(HostileClientTest, TheHeaderTimeIsForAllHeadersTogether) {
  ServerOptions options;
  options.header_timeout = 500ms;
  serve(options);
  LoopbackClient client = connect();
  client.send("GET /hello HTTP/1.1\r\n");
  // Each line comes in time, but all of them together do not.
  while (client.send("X: y\r\n")) {
    if (server_->stats().refused_requests.load() > 0) break;
  }
  const auto response = client.read_response();
  ASSERT_TRUE(response.has_value());
  EXPECT_TRUE(response->status == 408 || response->status == 431) << response->status;
}

TEST_P(HostileClientTest, SlowBodyGets408) {
  ServerOptions options;
  options.body_timeout = 100ms;
  serve(options);
  LoopbackClient client = connect();
  client.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nhalf");
  const auto response = client.read_response();
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->status, 408);
  EXPECT_EQ(code_of(*response), "body_timeout");
}

TEST_P(HostileClientTest, QuietConnectionsAreClosedWithoutAWord) {
  ServerOptions options;
  options.header_timeout = 500ms;
  options.idle_timeout = 100ms;
  serve(options);
  LoopbackClient mute = connect();
  EXPECT_TRUE(mute.at_end());
  LoopbackClient idle = connect();
  idle.send(get_request("/hello"));
  EXPECT_EQ(idle.read_response()->status, 200);
  EXPECT_TRUE(idle.at_end());
}

TEST_P(HostileClientTest, OneByteAtATimeIsServed) {
  serve();
  LoopbackClient client = connect();
  for (const char c : post_request("/echo", "slowly")) ASSERT_TRUE(client.send(std::string_view(&c, 1)));
  EXPECT_EQ(client.read_response()->body, "POST slowly");
  const std::string chunked =
      "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
  for (const char c : chunked) ASSERT_TRUE(client.send(std::string_view(&c, 1)));
  EXPECT_EQ(client.read_response()->body, "POST abc");
  client.send(get_request("/stream?4"));
  std::string all;
  while (!all.ends_with("0\r\n\r\n")) {
    const std::string byte = client.read_some(1);
    ASSERT_FALSE(byte.empty());
    all += byte;
  }
  EXPECT_NE(all.find("data: 3"), std::string::npos);
}

TEST_P(HostileClientTest, HugeHeadersGet431) {
  ServerOptions options;
  options.max_header_bytes = 2000;
  serve(options);
  const std::string long_value = "X-Long: " + std::string(3000, 'x') + "\r\n";
  std::string many_lines;
  for (int i = 0; i < 500; ++i) many_lines += "X-" + std::to_string(i) + ": y\r\n";
  const std::vector<std::string> requests = {
      get_request("/hello", long_value), get_request("/hello", many_lines),
      get_request("/" + std::string(3000, 'p')), std::string(5000, '\n') + get_request("/hello")};
  for (const std::string& request : requests) {
    LoopbackClient client = connect();
    client.send(request);
    const auto response = client.read_response();
    ASSERT_TRUE(response.has_value()) << request.substr(0, 40);
    EXPECT_EQ(response->status, 431);
    EXPECT_EQ(code_of(*response), "headers_too_large");
  }
  expect_undisturbed();
}

TEST_P(HostileClientTest, EndlessHeadersAreCutShort) {
  serve();
  LoopbackClient client = connect();
  client.send("GET /hello HTTP/1.1\r\n");
  const std::string line = "X: " + std::string(1000, 'x') + "\r\n";
  for (int i = 0; i < 100'000 && client.send(line); ++i) {
    if (server_->stats().refused_requests.load() > 0) break;
  }
  EXPECT_EQ(server_->stats().refused_requests.load(), 1u);
}

TEST_P(HostileClientTest, HugeBodiesGet413WithoutBeingRead) {
  ServerOptions options;
  options.max_body_bytes = 1000;
  serve(options);
  const std::string big(1001, 'b');
  const std::vector<std::string> requests = {
      "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000000000\r\n\r\nonly the beginning",
      "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5000\r\nExpect: 100-continue\r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFF\r\nx",
      "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + big + "\r\n0\r\n\r\n",
      post_request("/echo", big)};
  for (const std::string& request : requests) {
    LoopbackClient client = connect();
    client.send(request);
    const auto response = client.read_response();
    ASSERT_TRUE(response.has_value()) << request.substr(0, 90);
    EXPECT_EQ(response->status, 413);
    EXPECT_EQ(code_of(*response), "request_too_large");
  }
  LoopbackClient client = connect();
  client.send(post_request("/echo", std::string(1000, 'b')));
  EXPECT_EQ(client.read_response()->status, 200);
}

TEST_P(HostileClientTest, WhoStillSendsABigBodyReadsTheAnswer) {
  ServerOptions options;
  options.max_body_bytes = 1000;
  serve(options);
  LoopbackClient client = connect();
  ASSERT_TRUE(client.send(post_request("/echo", std::string(4'000'000, 'b'))));
  EXPECT_EQ(client.read_response()->status, 413);
}

TEST_P(HostileClientTest, MalformedRequestsGetTheirOwnAnswers) {
  serve();
  struct Case {
    std::string request;
    int status;
  };
  const std::string huge_extension = "5;" + std::string(40'000, 'e');
  const std::string chunked = "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::string trailers;
  while (trailers.size() < 40'000) trailers += "X: y\r\n";
  const std::vector<Case> cases = {
      {"GET /hello HTTP/1.1\nHost: h\n\n", 400},
      {"GET /hello HTTP/1.1\nHost: h", 400},
      {"GET /hello HTTP/1.1\r\nHost: h\nX: y\r\n\r\n", 400},
      {chunked + "2\n{}\n0\n\n", 400},
      {chunked + "2\r\n{}\r\n0\n", 400},
      {chunked + "2\r\n{}\r\n0\r\nX: y\n", 400},
      {chunked + huge_extension + "\r\nabcde\r\n0\r\n\r\n", 400},
      {chunked + "2\r\n{}\r\n0\r\n" + trailers + "\r\n", 400},
      {"nonsense\r\n\r\n", 400},
      {std::string("\x16\x03\x01\x02\x00\x01\x00\x01", 8) + std::string(200, '\0'), 400},  // TLS
      {"GET /hello HTTP/1.1\r\n\r\n", 400},                                                // no Host
      {"GET /hello HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
      {"GET /hello HTTP/1.1\r\nHost h\r\n\r\n", 400},
      {"GET /hello HTTP/1.1\r\nHost: h\r\nX : y\r\n\r\n", 400},
      {"GET hello HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"GET /%00 HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"GET /hello HTTP/2.0\r\nHost: h\r\n\r\n", 505},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n", 501},
      {"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: ten\r\n\r\n", 400},
      {"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n", 400},
      {"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n", 400},
      {"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400},
      {"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       400},
      {"POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
      {"POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501},
      {"POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400},
      {"POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n", 400},
      {"POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + huge_extension, 400},
      {"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: magic\r\n\r\nabc", 417},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.request.substr(0, 100));
    LoopbackClient client = connect();
    client.send(c.request);
    const auto response = client.read_response();
    ASSERT_TRUE(response.has_value());
    EXPECT_EQ(response->status, c.status);
    EXPECT_FALSE(code_of(*response).empty());
    EXPECT_TRUE(client.at_end());
  }
  EXPECT_EQ(server_->stats().refused_requests.load(), cases.size());
  EXPECT_EQ(server_->stats().requests.load(), 0u);
  expect_undisturbed();
}

TEST_P(HostileClientTest, ARefusalAfterAHeadRequestHasItsBody) {
  serve();
  LoopbackClient client = connect();
  client.send("HEAD /hello HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_EQ(client.read_head()->status, 200);
  client.send("nonsense\r\n\r\n");
  EXPECT_EQ(code_of(*client.read_response()), "malformed_request");
}

TEST_P(HostileClientTest, ARequestCutOffByItsSenderIsA400) {
  serve();
  for (const char* part : {"GET /hel", "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc"}) {
    LoopbackClient client = connect();
    client.send(part);
    client.half_close();
    EXPECT_EQ(client.read_response()->status, 400);
  }
}

TEST_P(HostileClientTest, AHalfClosedPeerIsStillAnswered) {
  serve();
  LoopbackClient client = connect();
  client.send(post_request("/echo", "last words"));
  client.half_close();
  EXPECT_EQ(client.read_response()->body, "POST last words");
  EXPECT_TRUE(client.at_end());
}

TEST_P(HostileClientTest, DisconnectBeforeTheFirstByteIsHeard) {
  serve();
  {
    LoopbackClient client = connect();
    client.send(get_request("/wait"));
    ASSERT_TRUE(entered_.try_acquire_for(kPatience));
  }
  EXPECT_TRUE(left_.try_acquire_for(kPatience));
  LoopbackClient client = connect();
  client.send(get_request("/wait"));
  ASSERT_TRUE(entered_.try_acquire_for(kPatience));
  client.reset();
  EXPECT_TRUE(left_.try_acquire_for(kPatience));
  EXPECT_TRUE(server_->wait_idle(kPatience));
  EXPECT_EQ(server_->stats().disconnects.load(), 2u);
}

TEST_P(HostileClientTest, DisconnectIsHeardBehindPipelinedBytes) {
  serve();
  LoopbackClient a_little = connect();
  a_little.send(get_request("/wait") + get_request("/hello"));
  ASSERT_TRUE(entered_.try_acquire_for(kPatience));
  a_little.half_close();
  EXPECT_TRUE(left_.try_acquire_for(kPatience));
  LoopbackClient a_lot = connect();
  a_lot.send(get_request("/wait") + std::string(100'000, 'x'));
  ASSERT_TRUE(entered_.try_acquire_for(kPatience));
  a_lot.reset();
  EXPECT_TRUE(left_.try_acquire_for(kPatience));
}

TEST_P(HostileClientTest, WhoSendsTooFarAheadIsToldAndItsRequestEnds) {
  serve();
  LoopbackClient client = connect();
  client.send(get_request("/wait") + std::string(40'000, 'x'));
  ASSERT_TRUE(entered_.try_acquire_for(kPatience));
  EXPECT_TRUE(left_.try_acquire_for(kPatience));
  const auto response = client.read_response();
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->status, 400);
  EXPECT_EQ(code_of(*response), "sent_too_far_ahead");
}

TEST_P(HostileClientTest, ManyExtensionsAreBoundedAllTogether) {
  serve();
  // Each extension is short, but a hundred bytes for every byte of the body are too much.
  std::string body;
  for (int i = 0; i < 400; ++i) body += "1;" + std::string(98, 'e') + "\r\nx\r\n";
  LoopbackClient client = connect();
  client.send("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + body + "0\r\n\r\n");
  EXPECT_EQ(client.read_response()->status, 400);
  // Small chunks alone are accepted.
  std::string small;
  for (int i = 0; i < 20'000; ++i) small += "1\r\nx\r\n";
  LoopbackClient honest = connect();
  honest.send("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + small + "0\r\n\r\n");
  EXPECT_EQ(honest.read_response()->body.size(), 20'005u);
}

TEST_P(HostileClientTest, BodiesOfAllRequestsTogetherAreBounded) {
  ServerOptions options;
  options.max_body_bytes = 1'000'000;
  options.max_bodies_bytes = 4'000'000;
  serve(options);
  // Each client sends most of a body and then nothing more.
  std::vector<LoopbackClient> held;
  for (int i = 0; i < 8; ++i) {
    held.push_back(connect());
    held.back().send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n" +
                     std::string(950'000, 'b'));
  }
  while (server_->stats().refused_requests.load() == 0) expect_undisturbed();
  LoopbackClient late = connect();
  late.send(post_request("/echo", std::string(900'000, 'b')));
  const auto response = late.read_response();
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->status, 503);
  EXPECT_EQ(code_of(*response), "server_overloaded");
  EXPECT_EQ(response->headers.count("retry-after"), 1u);
  // Small bodies still get in. Once the large ones have gone, large ones get in again.
  LoopbackClient small = connect();
  small.send(post_request("/echo", "little"));
  EXPECT_EQ(small.read_response()->status, 200);
  held.clear();
  while (true) {
    LoopbackClient large = connect();
    large.send(post_request("/echo", std::string(900'000, 'b')));
    const auto answer = large.read_response();
    if (answer && answer->status == 200) break;
    ASSERT_TRUE(!answer || answer->status == 503);
  }
}

TEST_P(HostileClientTest, RequestsPipelinedBehindALongOneAreServed) {
  serve();
  LoopbackClient client = connect();
  client.send(get_request("/stream?200") + get_request("/hello"));
  EXPECT_TRUE(client.read_response()->body.ends_with("data: 199\n\n"));
  EXPECT_EQ(client.read_response()->body, "hello");
}

TEST_P(HostileClientTest, PipelinedRequestsLeaveOthersTheirTurn) {
  serve();
  LoopbackClient client = connect();
  std::string all = get_request("/mark");
  for (int i = 0; i < 100; ++i) all += get_request("/hello");
  client.send(all);
  for (int i = 0; i <= 100; ++i) ASSERT_TRUE(client.read_response().has_value());
  EXPECT_GE(num_requests_at_mark_.load(), 1u);
  EXPECT_LT(num_requests_at_mark_.load(), 5u);
}

TEST_P(HostileClientTest, OneConnectionTooManyGets503) {
  ServerOptions options;
  options.max_connections = 2;
  serve(options);
  LoopbackClient first = connect();
  LoopbackClient second = connect();
  for (LoopbackClient* client : {&first, &second}) {
    client->send(get_request("/hello"));
    EXPECT_EQ(client->read_response()->status, 200);
  }
  LoopbackClient third = connect();
  const auto response = third.read_response();
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->status, 503);
  EXPECT_EQ(code_of(*response), "too_many_connections");
  EXPECT_TRUE(third.at_end());
  first.send(get_request("/hello"));
  EXPECT_EQ(first.read_response()->status, 200);
  EXPECT_EQ(server_->stats().refused_connections.load(), 1u);
}

TEST_P(HostileClientTest, AThousandIdleConnectionsDisturbNobody) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const int num_clients = limit.rlim_max >= 4096 ? 1000 : static_cast<int>(limit.rlim_max / 4);
  ServerOptions options;
  options.header_timeout = 120s;
  serve(options);
  std::vector<LoopbackClient> clients;
  for (int i = 0; i < num_clients; ++i) {
    clients.push_back(connect());
    ASSERT_TRUE(clients.back().connected());
  }
  expect_undisturbed();
  for (LoopbackClient& client : clients) client.send(get_request("/hello"));
  for (LoopbackClient& client : clients) EXPECT_EQ(client.read_response()->body, "hello");
}

}  // namespace
}  // namespace kvasir::net
