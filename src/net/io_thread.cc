#include "net/io_thread.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace kvasir::net {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// Refused connections that are still being told so; more are closed without a word.
constexpr int kMaxTurnedAway = 128;
// Where accepting fails (no descriptors left, mostly), trying again at once would only burn the thread.
constexpr auto kAcceptRetry = std::chrono::milliseconds(50);
constexpr int kBacklog = 4096;

using SharePortOption = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;

}  // namespace

IoThread::IoThread(std::shared_ptr<ServerState> state) : state_(std::move(state)), io_(1), acceptor_(io_) {}

IoThread::~IoThread() {
  join();
}

base::Result<IoThread::tcp::endpoint> IoThread::listen(const tcp::endpoint& endpoint, SharePort share) {
  error_code error;
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error && share == SharePort::yes) acceptor_.set_option(SharePortOption(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(kBacklog, error);
  if (error) {
    return base::error(base::ErrorCode::unavailable, "cannot listen on {}:{}: {}",
                       endpoint.address().to_string(), endpoint.port(), error.message());
  }
  const tcp::endpoint bound = acceptor_.local_endpoint(error);
  if (error) return base::error(base::ErrorCode::io, "cannot listen: {}", error.message());
  return bound;
}

void IoThread::start() {
  asio::co_spawn(io_, accept_loop(), [](std::exception_ptr) {});
  thread_ = std::thread([this] {
    const auto forever = asio::make_work_guard(io_);
    io_.run();
  });
}

asio::awaitable<void> IoThread::accept_loop() {
  while (acceptor_.is_open()) {
    error_code error;
    tcp::socket socket = co_await acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, error));
    if (!acceptor_.is_open()) co_return;
    if (error == asio::error::connection_aborted) continue;
    if (error) {
      asio::steady_timer pause(io_, kAcceptRetry);
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
      continue;
    }
    ++state_->stats.accepted;
    if (state_->stats.open_connections.load() >= state_->options.max_connections) {
      turn_away(std::move(socket));
    } else {
      adopt(std::move(socket));
    }
  }
}

void IoThread::adopt(tcp::socket socket) {
  auto connection = std::make_shared<HttpConnection>(std::move(socket), state_);
  auto presence = std::make_unique<Presence>(*state_, state_->stats.open_connections);
  connections_.insert(connection.get());
  asio::co_spawn(io_, connection->run(),
                 [this, connection, presence = std::move(presence)](std::exception_ptr) {
                   connections_.erase(connection.get());
                 });
}

void IoThread::turn_away(tcp::socket socket) {
  ++state_->stats.refused_connections;
  if (num_turned_away_ >= kMaxTurnedAway) return;
  ++num_turned_away_;
  auto connection = std::make_shared<HttpConnection>(std::move(socket), state_);
  connections_.insert(connection.get());
  asio::co_spawn(io_, connection->turn_away(), [this, connection](std::exception_ptr) {
    --num_turned_away_;
    connections_.erase(connection.get());
  });
}

void IoThread::stop_accepting() {
  asio::post(io_, [this] {
    error_code ignored;
    acceptor_.close(ignored);
    for (HttpConnection* connection : connections_) connection->close_if_idle();
  });
}

void IoThread::cut_all() {
  asio::post(io_, [this] {
    error_code ignored;
    acceptor_.close(ignored);
    for (HttpConnection* connection : connections_) connection->cut();
  });
}

void IoThread::join() {
  if (!thread_.joinable()) return;
  io_.stop();
  thread_.join();
}

}  // namespace kvasir::net
