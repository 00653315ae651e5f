#include "net/http_client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <memory>
#include <mutex>
#include <thread>

namespace kvasir::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using base::ErrorCode;

// Answers connections one after another with a script, and records the requests.
class ScriptedServer {
 public:
  // Gets the number of the connection and the head of its request, and writes the answer.
  using Script = std::function<void(int, const std::string&, tcp::socket&)>;

  explicit ScriptedServer(Script script) : script_(std::move(script)), thread_([this] { serve(); }) {}
  ~ScriptedServer() {
    done_ = true;
    boost::system::error_code ignored;
    asio::io_context io;
    tcp::socket poke(io);
    poke.connect(acceptor_.local_endpoint(), ignored);
    thread_.join();
  }

  std::string address(const std::string& target) const {
    return fmt::format("http://127.0.0.1:{}{}", acceptor_.local_endpoint().port(), target);
  }
  std::string request(std::size_t index) {
    const std::lock_guard lock(mutex_);
    return index < requests_.size() ? requests_[index] : "";
  }

 private:
  void serve() {
    for (int number = 0;; number++) {
      boost::system::error_code code;
      tcp::socket socket = acceptor_.accept(code);
      if (done_ || code) return;
      std::string head;
      asio::read_until(socket, asio::dynamic_buffer(head), "\r\n\r\n", code);
      if (code) continue;
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(head);
      }
      script_(number, head, socket);
    }
  }

  Script script_;
  asio::io_context io_;
  tcp::acceptor acceptor_{io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  std::atomic<bool> done_{false};
  std::mutex mutex_;
  std::vector<std::string> requests_;  // guarded by mutex_
  std::thread thread_;
};

void send(tcp::socket& socket, const std::string& text) {
  boost::system::error_code ignored;
  asio::write(socket, asio::buffer(text), ignored);
}

std::string answer(const std::string& status, const std::string& headers, const std::string& body) {
  return fmt::format("HTTP/1.1 {}\r\n{}Content-Length: {}\r\n\r\n{}", status, headers, body.size(), body);
}

// Waits until the other side closes.
void wait_for_close(tcp::socket& socket) {
  boost::system::error_code code;
  char byte = 0;
  while (!code) socket.read_some(asio::buffer(&byte, 1), code);
}

HttpCall get(const std::string& address) {
  HttpCall call;
  call.url = parse_url(address).value();
  return call;
}

HttpClientOptions quick() {
  return {.connect_timeout = std::chrono::milliseconds(500), .read_timeout = std::chrono::milliseconds(300)};
}

TEST(HttpClient, GetsABodyOfEitherFraming) {
  ScriptedServer server([](int number, const std::string&, tcp::socket& socket) {
    if (number == 0) send(socket, answer("200 OK", "X-Kind: sized\r\n", "hello"));
    if (number == 1)
      send(socket, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n");
    if (number == 2) send(socket, "HTTP/1.1 200 OK\r\n\r\nhello");
  });
  const HttpClient client(quick());
  for (int i = 0; i < 3; i++) {
    const auto text = client.text(get(server.address("/x?y")), 100, {});
    ASSERT_TRUE(text.ok()) << text.error().message;
    EXPECT_EQ(text->body, "hello");
    EXPECT_EQ(text->reply.status, 200);
    if (i == 0) {
      EXPECT_EQ(text->reply.header("x-kind"), "sized");
    }
  }
  EXPECT_TRUE(server.request(0).starts_with("GET /x?y HTTP/1.1\r\nHost: 127.0.0.1:"));
}

TEST(HttpClient, SendsABody) {
  ScriptedServer server(
      [](int, const std::string&, tcp::socket& socket) { send(socket, answer("201 Created", "", "")); });
  HttpCall call = get(server.address("/"));
  call.method = "POST";
  call.body = "payload";
  const auto reply = HttpClient(quick()).call(call, {}, {});
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply->status, 201);
  EXPECT_NE(server.request(0).find("Content-Length: 7\r\n"), std::string::npos);
}

TEST(HttpClient, AnErrorStatusIsAReply) {
  ScriptedServer server([](int, const std::string&, tcp::socket& socket) {
    send(socket, answer("404 Not Found", "", "nothing here"));
  });
  const auto text = HttpClient(quick()).text(get(server.address("/")), 100, {});
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->reply.status, 404);
  EXPECT_EQ(text->body, "nothing here");
}

TEST(HttpClient, HeadsBeforeTheAnswersOwnArePassedOver) {
  ScriptedServer server([](int number, const std::string&, tcp::socket& socket) {
    const std::string early = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
    std::string text = early + answer("200 OK", "", "here");
    for (int i = 0; number == 1 && i < 100; ++i) text = early + text;
    send(socket, text);
  });
  const HttpClient client(quick());
  const auto text = client.text(get(server.address("/")), 100, {});
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_EQ(text->reply.status, 200);
  EXPECT_EQ(text->body, "here");
  const auto endless = client.text(get(server.address("/")), 100, {});
  EXPECT_TRUE(!endless.ok() || endless->reply.status != 200);
}

TEST(HttpClient, ABodyCutOffIsAnError) {
  ScriptedServer server([](int number, const std::string&, tcp::socket& socket) {
    if (number == 0) send(socket, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
    if (number == 1) send(socket, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n");
    if (number == 2) send(socket, "HTTP/1.1 200");
  });
  const HttpClient client(quick());
  for (int i = 0; i < 3; i++) {
    std::string got;
    ReplySink sink;
    sink.body = [&](std::string_view bytes) {
      got += bytes;
      return base::ok();
    };
    const auto reply = client.call(get(server.address("/")), sink, {});
    ASSERT_FALSE(reply.ok()) << i;
    EXPECT_EQ(reply.error().code, ErrorCode::io) << reply.error().message;
    if (i < 2) {
      EXPECT_EQ(got, "half");
    }
  }
}

TEST(HttpClient, GarbageIsAnError) {
  ScriptedServer server(
      [](int, const std::string&, tcp::socket& socket) { send(socket, "SSH-2.0-OpenSSH\r\n\r\n"); });
  const auto reply = HttpClient(quick()).call(get(server.address("/")), {}, {});
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::io);
}

TEST(HttpClient, EndlessHeadersAreCut) {
  ScriptedServer server([](int, const std::string&, tcp::socket& socket) {
    boost::system::error_code code;
    const std::string line = "X-More: " + std::string(1000, 'x') + "\r\n";
    asio::write(socket, asio::buffer(std::string("HTTP/1.1 200 OK\r\n")), code);
    while (!code) asio::write(socket, asio::buffer(line), code);
  });
  const auto reply = HttpClient(quick()).call(get(server.address("/")), {}, {});
  EXPECT_FALSE(reply.ok());
}

TEST(HttpClient, TooMuchTextIsRefused) {
  ScriptedServer server([](int, const std::string&, tcp::socket& socket) {
    send(socket, answer("200 OK", "", std::string(1000, 'x')));
  });
  const auto text = HttpClient(quick()).text(get(server.address("/")), 100, {});
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code, ErrorCode::too_large);
}

TEST(HttpClient, FollowsRedirects) {
  ScriptedServer server([](int number, const std::string&, tcp::socket& socket) {
    if (number == 0)
      send(socket, answer("302 Found", "Location: /second?x=1\r\n", "ignored"));
    else
      send(socket, answer("200 OK", "", "there"));
  });
  HttpCall call = get(server.address("/first"));
  call.headers.push_back({"Authorization", "Bearer secret"});
  const auto text = HttpClient(quick()).text(call, 100, {});
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_EQ(text->body, "there");
  EXPECT_EQ(text->reply.url.target, "/second?x=1");
  EXPECT_NE(server.request(1).find("Bearer secret"), std::string::npos);
}

TEST(HttpClient, ATokenStaysWithItsOrigin) {
  ScriptedServer other(
      [](int, const std::string&, tcp::socket& socket) { send(socket, answer("200 OK", "", "there")); });
  ScriptedServer server([&](int, const std::string&, tcp::socket& socket) {
    send(socket, answer("302 Found", "Location: " + other.address("/") + "\r\n", ""));
  });
  HttpCall call = get(server.address("/"));
  call.headers.push_back({"authorization", "Bearer secret"});
  call.headers.push_back({"Range", "bytes=5-"});
  const auto text = HttpClient(quick()).text(call, 100, {});
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_NE(server.request(0).find("Bearer secret"), std::string::npos);
  EXPECT_EQ(other.request(0).find("Bearer secret"), std::string::npos);
  EXPECT_NE(other.request(0).find("Range: bytes=5-"), std::string::npos);
}

TEST(HttpClient, EndlessRedirectsEnd) {
  ScriptedServer server([](int, const std::string&, tcp::socket& socket) {
    send(socket, answer("302 Found", "Location: /again\r\n", ""));
  });
  const auto reply = HttpClient(quick()).call(get(server.address("/")), {}, {});
  ASSERT_FALSE(reply.ok());
  EXPECT_NE(reply.error().message.find("more than 5 times"), std::string::npos);
}

TEST(HttpClient, NobodyThereIsUnavailable) {
  const auto reply = HttpClient(quick()).call(get("http://127.0.0.1:1/"), {}, {});
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::unavailable);
  EXPECT_NE(reply.error().message.find("127.0.0.1:1"), std::string::npos);
}

TEST(HttpClient, AnUnknownNameIsUnavailable) {
  const auto reply = HttpClient(quick()).call(get("http://no-such-host.invalid/"), {}, {});
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::unavailable);
}

// A listener with a full queue does not answer, like a filtered address.
TEST(HttpClient, AnAddressThatNeverAnswersIsGivenUp) {
  asio::io_context io;
  tcp::acceptor full(io);
  full.open(tcp::v4());
  full.bind(tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  full.listen(0);
  std::vector<tcp::socket> waiting;
  for (int i = 0; i < 8; i++) {
    waiting.emplace_back(io, tcp::v4());
    waiting.back().native_non_blocking(true);
    const tcp::endpoint to = full.local_endpoint();
    ::connect(waiting.back().native_handle(), to.data(), static_cast<socklen_t>(to.size()));
  }
  const auto reply = HttpClient(quick()).call(
      get(fmt::format("http://127.0.0.1:{}/", full.local_endpoint().port())), {}, {});
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::unavailable);
  EXPECT_NE(reply.error().message.find("no answer in 500 ms"), std::string::npos) << reply.error().message;
}

TEST(HttpClient, SilenceTimesOut) {
  ScriptedServer server([](int number, const std::string&, tcp::socket& socket) {
    if (number == 1) send(socket, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
    wait_for_close(socket);
  });
  for (int i = 0; i < 2; i++) {
    const auto reply = HttpClient(quick()).call(get(server.address("/")), {}, {});
    ASSERT_FALSE(reply.ok());
    EXPECT_EQ(reply.error().code, ErrorCode::timeout) << reply.error().message;
  }
}

TEST(HttpClient, StoppingEndsAStreamAtOnce) {
  ScriptedServer server([](int, const std::string&, tcp::socket& socket) {
    send(socket, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n");
    wait_for_close(socket);
  });
  const auto halt = std::make_unique<std::stop_source>();
  std::string got;
  ReplySink sink;
  sink.body = [&](std::string_view bytes) {
    got += bytes;
    halt->request_stop();
    return base::ok();
  };
  HttpClientOptions patient;
  patient.read_timeout = std::chrono::hours(1);
  const auto reply = HttpClient(patient).call(get(server.address("/")), sink, halt->get_token());
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::cancelled);
  EXPECT_EQ(got, "first");
}

TEST(HttpClient, StoppingFromAnotherThreadEndsAWait) {
  std::atomic<bool> asked = false;
  ScriptedServer server([&](int, const std::string&, tcp::socket& socket) {
    asked = true;
    wait_for_close(socket);
  });
  const auto halt = std::make_unique<std::stop_source>();
  std::jthread stopper([&] {
    while (!asked) std::this_thread::yield();
    halt->request_stop();
  });
  HttpClientOptions patient;
  patient.read_timeout = std::chrono::hours(1);
  const auto reply = HttpClient(patient).call(get(server.address("/")), {}, halt->get_token());
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::cancelled);
}

TEST(HttpClient, AnErrorFromTheSinkIsTheResult) {
  ScriptedServer server(
      [](int, const std::string&, tcp::socket& socket) { send(socket, answer("200 OK", "", "hello")); });
  ReplySink sink;
  sink.head = [](const HttpReply&) -> base::Status { return base::error(ErrorCode::corrupt, "not that"); };
  const auto reply = HttpClient(quick()).call(get(server.address("/")), sink, {});
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().message, "not that");
}

}  // namespace
}  // namespace kvasir::net
