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

// How fast a peer must read: it must take something within each `patience` and, after the first one,
// `min_bytes_per_s` on average. A byte now and then is not enough.
struct WritePace {
  base::Duration patience = std::chrono::seconds(30);
  std::int64_t min_bytes_per_s = 4096;
};

// A non-blocking TCP socket on which every wait has a deadline. Bytes are moved by plain system calls, and
// only readiness is awaited, so a cancelled wait never loses data. Touched on its executor only.
class DeadlineSocket {
 public:
  using tcp = boost::asio::ip::tcp;

  explicit DeadlineSocket(tcp::socket socket);
  ~DeadlineSocket();
  DeadlineSocket(const DeadlineSocket&) = delete;
  DeadlineSocket& operator=(const DeadlineSocket&) = delete;

  // The result of a read that does not wait.
  enum class Found { bytes, nothing, end };
  struct Taken {
    Found found = Found::nothing;
    std::size_t num_bytes = 0;
  };
  Taken take(boost::asio::mutable_buffer into);

  // timeout: the deadline passed first. cancelled: the socket was shut, or the wait was cancelled.
  boost::asio::awaitable<base::Status> wait_readable(base::TimePoint deadline);
  // Sends everything. timeout: the peer was slower than the pace; cancelled: it is gone.
  boost::asio::awaitable<base::Status> write(std::span<boost::asio::const_buffer> buffers, WritePace pace);

  // Calls `ready` when there is something to read (or, for wait_error, when the peer reset), unless
  // cancel_waits comes first. Awaits of this class and at most one watch may run concurrently.
  void watch(tcp::socket::wait_type what, std::function<void()> ready);
  void cancel_waits();

  void shut_sending();
  // Ends both directions. Every present or later wait returns at once.
  void shut();

  // Like shut(), but also drops the bytes that the system has not sent yet.
  void reset();

  boost::asio::any_io_executor executor();
  // The peer's address without its port; empty if the peer is gone.
  std::string peer() const;

 private:
  struct State;
  boost::asio::awaitable<base::Status> wait(tcp::socket::wait_type what, base::TimePoint deadline);
  int unacknowledged_bytes() const;

  std::shared_ptr<State> state_;  // shared with handlers whose cancellation came too late
};

}  // namespace kvasir::net
