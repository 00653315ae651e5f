#include "net/io_thread.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

#include "obs/log.h"

namespace kvasir::net {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// Refused connections that may wait for their 503. Further ones are closed silently.
constexpr std::size_t kMaxTurnedAway = 128;
// If accept fails (mostly because no descriptors are left), retrying at once would only burn CPU time.
constexpr auto kAcceptRetry = std::chrono::milliseconds(50);
constexpr int kBacklog = 4096;

using SharePortOption = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;

// An exception in one connection (out of memory, mostly) must not end the others.
void report_failure(std::exception_ptr failure) {
  if (!failure) return;
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& e) {
    obs::Log::error("connection_failed", {{"reason", e.what()}});
  } catch (...) {
    obs::Log::error("connection_failed");
  }
}

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
  asio::co_spawn(io_, accept_loop(), report_failure);
  thread_ = std::thread([this] {
    const auto forever = asio::make_work_guard(io_);
    while (!io_.stopped()) {
      try {
        io_.run();
      } catch (...) {
        report_failure(std::current_exception());
      }
    }
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
    try {
      if (state_->stats.open_connections.load() >= state_->options.max_connections) {
        turn_away(std::move(socket));
      } else {
        adopt(std::move(socket));
      }
    } catch (...) {
      report_failure(std::current_exception());
    }
  }
}

// Keeps a connection in its thread's set while the connection's coroutine lives.
class IoThread::Membership {
 public:
  Membership(std::unordered_set<HttpConnection*>& members, HttpConnection* member)
      : members_(members), member_(member) {
    members_.insert(member_);
  }
  ~Membership() { members_.erase(member_); }
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

 private:
  std::unordered_set<HttpConnection*>& members_;
  HttpConnection* member_;
};

void IoThread::adopt(tcp::socket socket) {
  auto connection = std::make_shared<HttpConnection>(std::move(socket), state_);
  auto presence = std::make_unique<Presence>(*state_, state_->stats.open_connections);
  auto membership = std::make_unique<Membership>(connections_, connection.get());
  asio::co_spawn(io_, connection->run(),
                 [connection, presence = std::move(presence), membership = std::move(membership)](
                     std::exception_ptr failure) { report_failure(failure); });
}

void IoThread::turn_away(tcp::socket socket) {
  ++state_->stats.refused_connections;
  if (turned_away_.size() >= kMaxTurnedAway) return;
  auto connection = std::make_shared<HttpConnection>(std::move(socket), state_);
  auto membership = std::make_unique<Membership>(turned_away_, connection.get());
  asio::co_spawn(io_, connection->turn_away(),
                 [connection, membership = std::move(membership)](std::exception_ptr failure) {
                   report_failure(failure);
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
    for (HttpConnection* connection : turned_away_) connection->cut();
  });
}

void IoThread::join() {
  if (!thread_.joinable()) return;
  io_.stop();
  thread_.join();
}

}  // namespace kvasir::net
