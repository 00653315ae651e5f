#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace kvasir::net {

// How fast a peer must read: it must take something within each `patience` and, after the first `patience`,
// `min_bytes_per_s` on average. A byte now and then is not enough.
struct WritePace {
  base::Duration patience = std::chrono::seconds(30);
  std::int64_t min_bytes_per_s = 4096;
};

class TlsContext;
class TlsSession;

// A non-blocking TCP socket whose waits all have a deadline, with TLS over it if that was started. Calls that
// move bytes never wait; only readiness is awaited, so a cancelled wait never loses data. Touched on its
// executor only.
class DeadlineSocket {
 public:
  using tcp = boost::asio::ip::tcp;

  explicit DeadlineSocket(tcp::socket socket);
  explicit DeadlineSocket(const boost::asio::any_io_executor& executor)
      : DeadlineSocket(tcp::socket(executor)) {}
  ~DeadlineSocket();
  DeadlineSocket(const DeadlineSocket&) = delete;
  DeadlineSocket& operator=(const DeadlineSocket&) = delete;

  // Called at most once, on a socket without a connection. Errors: timeout, cancelled, or unavailable with
  // the system's reason.
  boost::asio::awaitable<base::Status> connect(tcp::endpoint to, base::TimePoint deadline);
  // The handshake, before any byte is moved. Errors: unsupported if the peer spoke plain HTTP, corrupt if it
  // cannot be trusted, timeout, cancelled, and io for anything else. After an error the socket is a plain one
  // again.
  boost::asio::awaitable<base::Status> accept_tls(const TlsContext& context, base::TimePoint deadline);
  // `host` is the name that the peer's certificate must have.
  boost::asio::awaitable<base::Status> connect_tls(const TlsContext& context, const std::string& host,
                                                   base::TimePoint deadline);

  // The result of a read that does not wait. end: the peer closed its side; broken: the connection is lost,
  // or ended without the end that TLS announces.
  enum class Found { bytes, nothing, end, broken };
  struct Taken {
    Found found = Found::nothing;
    std::size_t num_bytes = 0;
  };
  Taken take(boost::asio::mutable_buffer into);

  // timeout: the deadline passed first. cancelled: the socket was shut, or the wait was cancelled.
  boost::asio::awaitable<base::Status> wait_readable(base::TimePoint deadline);
  // Sends everything. timeout: the peer was slower than the pace; cancelled: it is gone.
  boost::asio::awaitable<base::Status> write(std::span<boost::asio::const_buffer> buffers, WritePace pace);

  // Calls `ready` once, when there is something to read, unless `unwatch` comes first. Writes and one watch
  // may run concurrently, but no read.
  void watch(std::function<void()> ready);
  void unwatch();

  // Ends the sending side. Over TLS this may have to wait.
  boost::asio::awaitable<void> shut_sending(base::TimePoint deadline);
  // Ends both directions: every wait, now or later, returns at once.
  void shut();

  // Like shut(), but also drops the bytes that the system has not sent yet.
  void reset();

  boost::asio::any_io_executor executor();
  // The peer's address without its port; empty if the peer is gone.
  std::string peer() const;

 private:
  struct State;
  struct Given;
  boost::asio::awaitable<base::Status> shake_hands(base::TimePoint deadline);
  void await_bytes();
  boost::asio::awaitable<base::Status> wait(tcp::socket::wait_type what, base::TimePoint deadline);
  Given give(std::span<const boost::asio::const_buffer> buffers);
  std::int64_t num_acknowledged() const;

  std::shared_ptr<State> state_;  // shared with handlers whose cancellation came too late
};

}  // namespace kvasir::net
