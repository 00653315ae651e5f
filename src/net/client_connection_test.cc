#include "net/client_connection.h"

#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace kvasir::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr const char* kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

// Serves connections one after another, each with its own script: it answers as many requests as the script
// has answers, then closes the connection.
class KeepingServer {
 public:
  using Script = std::vector<std::vector<std::string>>;
  explicit KeepingServer(Script connections)
      : connections_(std::move(connections)), thread_([this] { serve(); }) {}
  KeepingServer(const KeepingServer&) = delete;
  KeepingServer& operator=(const KeepingServer&) = delete;
  ~KeepingServer() { thread_.join(); }

  int port() const { return acceptor_.local_endpoint().port(); }

 private:
  void serve() {
    for (const std::vector<std::string>& answers : connections_) {
      boost::system::error_code code;
      tcp::socket socket = acceptor_.accept(code);
      std::string buffer;
      for (const std::string& answer : answers) {
        const std::size_t size = asio::read_until(socket, asio::dynamic_buffer(buffer), "\r\n\r\n", code);
        if (code) break;
        buffer.erase(0, size);
        asio::write(socket, asio::buffer(answer), code);
      }
    }
  }

  std::vector<std::vector<std::string>> connections_;
  asio::io_context io_;
  tcp::acceptor acceptor_{io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  std::thread thread_;
};

struct Client {
  explicit Client(int port) {
    call.url = parse_url(fmt::format("http://127.0.0.1:{}/", port)).value();
    HttpClientOptions options{.connect_timeout = std::chrono::seconds(5),
                              .read_timeout = std::chrono::seconds(5)};
    options.keep_alive = true;
    origin = Origin::find(call.url, options, {}).value();
    connection = std::make_unique<ClientConnection>(io.get_executor(), origin);
  }

  // The results of several exchanges in a row, and whether the connection was open after each.
  struct Outcome {
    std::string body;
    bool ok = false;
    bool open = false;
  };
  std::vector<Outcome> exchange(int count) {
    std::vector<Outcome> outcomes;
    asio::co_spawn(
        io,
        [&]() -> asio::awaitable<void> {
          for (int i = 0; i < count; ++i) {
            Outcome outcome;
            ReplySink sink;
            sink.body = [&](std::string_view bytes) {
              outcome.body += bytes;
              return base::ok();
            };
            const auto reply = co_await connection->exchange(call, sink);
            outcome.ok = reply.ok();
            outcome.open = connection->open();
            outcomes.push_back(outcome);
          }
        },
        asio::detached);
    io.restart();
    io.run();
    return outcomes;
  }

  asio::io_context io;
  HttpCall call;
  std::shared_ptr<const Origin> origin;
  std::unique_ptr<ClientConnection> connection;
};

TEST(ClientConnection, UsesOneConnectionForSeveralExchanges) {
  KeepingServer server(KeepingServer::Script{{kAnswer, kAnswer, kAnswer}});
  Client client(server.port());
  for (const Client::Outcome& outcome : client.exchange(3)) {
    EXPECT_EQ(outcome.body, "ok");
    EXPECT_TRUE(outcome.open);
  }
}

TEST(ClientConnection, ReplacesAKeptConnectionThatTheServerHasClosed) {
  KeepingServer server(KeepingServer::Script{{kAnswer}, {kAnswer}});
  Client client(server.port());
  for (const Client::Outcome& outcome : client.exchange(2)) {
    EXPECT_TRUE(outcome.ok);
    EXPECT_EQ(outcome.body, "ok");
  }
}

TEST(ClientConnection, DoesNotAskAgainAfterHalfAnAnswer) {
  KeepingServer server(KeepingServer::Script{{kAnswer, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"}});
  Client client(server.port());
  const auto outcomes = client.exchange(2);
  ASSERT_EQ(outcomes.size(), 2u);
  EXPECT_TRUE(outcomes[0].ok);
  EXPECT_FALSE(outcomes[1].ok);
  EXPECT_EQ(outcomes[1].body, "half");
  EXPECT_FALSE(outcomes[1].open);
}

TEST(ClientConnection, DoesNotKeepWhatTheServerWillClose) {
  const std::string last = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
  KeepingServer server(KeepingServer::Script{{last}, {kAnswer}});
  Client client(server.port());
  const auto outcomes = client.exchange(2);
  ASSERT_EQ(outcomes.size(), 2u);
  EXPECT_FALSE(outcomes[0].open);
  EXPECT_TRUE(outcomes[1].ok);
  EXPECT_TRUE(outcomes[1].open);
}

TEST(ClientConnection, AnAbortEndsTheExchange) {
  asio::io_context io;
  tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  Client client(acceptor.local_endpoint().port());
  std::thread silent([&] {
    tcp::socket socket = acceptor.accept();
    std::string request;
    boost::system::error_code closed;
    asio::read_until(socket, asio::dynamic_buffer(request), "\r\n\r\n", closed);
    asio::post(client.io, [&] { client.connection->abort(); });
    while (!closed) asio::read(socket, asio::dynamic_buffer(request), asio::transfer_at_least(1), closed);
  });
  bool cancelled = false;
  const ReplySink sink;
  asio::co_spawn(
      client.io,
      [&]() -> asio::awaitable<void> {
        const auto reply = co_await client.connection->exchange(client.call, sink);
        cancelled = !reply.ok() && reply.error().code == base::ErrorCode::cancelled;
      },
      asio::detached);
  client.io.run();
  silent.join();
  EXPECT_TRUE(cancelled);
}

}  // namespace
}  // namespace kvasir::net
