#include "net/deadline_socket.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <utility>

namespace kvasir::net {

namespace asio = boost::asio;
using boost::system::error_code;

struct DeadlineSocket::State {
  explicit State(tcp::socket s) : socket(std::move(s)), timer(socket.get_executor()) {}

  tcp::socket socket;
  asio::steady_timer timer;
  asio::cancellation_signal cancel;  // of the current wait
  std::uint64_t epoch = 0;           // number of the current wait; a timer with another number is stale
  bool shut = false;
};

DeadlineSocket::DeadlineSocket(tcp::socket socket) : state_(std::make_shared<State>(std::move(socket))) {
  error_code ignored;
  state_->socket.non_blocking(true, ignored);
  state_->socket.set_option(tcp::no_delay(true), ignored);
}

DeadlineSocket::~DeadlineSocket() {
  error_code ignored;
  ++state_->epoch;
  state_->timer.cancel();
  state_->socket.close(ignored);
}

asio::any_io_executor DeadlineSocket::executor() {
  return state_->socket.get_executor();
}

std::string DeadlineSocket::peer() const {
  error_code error;
  const tcp::endpoint endpoint = state_->socket.remote_endpoint(error);
  return error ? std::string() : endpoint.address().to_string();
}

DeadlineSocket::Taken DeadlineSocket::take(asio::mutable_buffer into) {
  error_code error;
  const std::size_t n = state_->socket.read_some(into, error);
  if (!error) return {Found::bytes, n};
  if (error == asio::error::would_block || error == asio::error::try_again ||
      error == asio::error::interrupted) {
    return {Found::nothing, 0};
  }
  return {Found::end, 0};
}

asio::awaitable<base::Status> DeadlineSocket::wait(tcp::socket::wait_type what, base::TimePoint deadline) {
  const std::shared_ptr<State> state = state_;
  if (state->shut) co_return base::error(base::ErrorCode::cancelled, "the connection was shut");
  const std::uint64_t epoch = ++state->epoch;
  const auto timed_out = std::make_shared<bool>(false);
  state->timer.expires_at(deadline);
  state->timer.async_wait([state, epoch, timed_out](error_code error) {
    if (error || epoch != state->epoch) return;
    *timed_out = true;
    state->cancel.emit(asio::cancellation_type::terminal);
  });
  error_code error;
  // The wait has its own cancellation slot, so that a watch beside it goes on.
  co_await state->socket.async_wait(
      what,
      asio::redirect_error(asio::bind_cancellation_slot(state->cancel.slot(), asio::use_awaitable), error));
  ++state->epoch;
  state->timer.cancel();
  if (!error && !state->shut) co_return base::ok();
  if (*timed_out && !state->shut) co_return base::error(base::ErrorCode::timeout, "the peer was too slow");
  co_return base::error(base::ErrorCode::cancelled, "the connection was shut");
}

asio::awaitable<base::Status> DeadlineSocket::wait_readable(base::TimePoint deadline) {
  return wait(tcp::socket::wait_read, deadline);
}

int DeadlineSocket::unacknowledged_bytes() const {
  int bytes = 0;
  if (ioctl(state_->socket.native_handle(), SIOCOUTQ, &bytes) != 0) return 0;
  return bytes;
}

namespace {

// Drops the bytes that were sent and returns the rest.
std::span<asio::const_buffer> drop_sent(std::span<asio::const_buffer> buffers, std::size_t sent) {
  while (!buffers.empty() && sent >= buffers.front().size()) {
    sent -= buffers.front().size();
    buffers = buffers.subspan(1);
  }
  if (!buffers.empty()) buffers.front() += sent;
  return buffers;
}

// The time until which a blocked write may wait.
class WriteDeadline {
 public:
  WriteDeadline(WritePace pace, base::TimePoint now)
      : pace_(pace), began_(now), progressed_(now), min_rate_(static_cast<double>(pace.min_bytes_per_s)) {}

  // `num_taken` counts from the beginning of the wait.
  base::TimePoint after(std::int64_t num_taken, base::TimePoint now) {
    if (num_taken > num_taken_) progressed_ = now;
    num_taken_ = std::max(num_taken_, num_taken);
    const std::chrono::duration<double> earned(static_cast<double>(num_taken_) / min_rate_);
    const base::TimePoint at_pace =
        began_ + pace_.patience + std::chrono::duration_cast<base::Duration>(earned);
    return std::min(progressed_ + pace_.patience, at_pace);
  }

 private:
  const WritePace pace_;
  const base::TimePoint began_;
  base::TimePoint progressed_;
  const double min_rate_;
  std::int64_t num_taken_ = 0;
};

}  // namespace

asio::awaitable<base::Status> DeadlineSocket::write(std::span<asio::const_buffer> buffers, WritePace pace) {
  const base::RealClock clock;
  std::optional<WriteDeadline> deadline;  // set at the first wait
  std::int64_t given = 0;                 // bytes that the system held then, or got since
  buffers = drop_sent(buffers, 0);
  while (!buffers.empty()) {
    if (state_->shut) co_return base::error(base::ErrorCode::cancelled, "the connection was shut");
    error_code error;
    const std::size_t sent = state_->socket.write_some(buffers, error);
    if (!error) {
      given += static_cast<std::int64_t>(sent);
      buffers = drop_sent(buffers, sent);
      continue;
    }
    if (error == asio::error::interrupted) continue;
    if (error != asio::error::would_block && error != asio::error::try_again) {
      co_return base::error(base::ErrorCode::cancelled, "the peer is gone: {}", error.message());
    }
    // The socket becomes writable only when a good part of its buffer is free. The progress of a slow reader
    // is visible earlier, in the bytes that the peer has acknowledged.
    const base::TimePoint now = clock.now();
    const std::int64_t outstanding = unacknowledged_bytes();
    if (!deadline) {
      deadline.emplace(pace, now);
      given = outstanding;
    }
    const base::TimePoint until = deadline->after(given - outstanding, now);
    if (now >= until) co_return base::error(base::ErrorCode::timeout, "the peer was too slow");
    const base::Status ready = co_await wait(tcp::socket::wait_write, until);
    if (!ready.ok() && ready.error().code != base::ErrorCode::timeout) co_return ready.error();
  }
  co_return base::ok();
}

void DeadlineSocket::watch(tcp::socket::wait_type what, std::function<void()> ready) {
  state_->socket.async_wait(what, [state = state_, ready = std::move(ready)](error_code error) {
    if (!error) ready();
  });
}

void DeadlineSocket::cancel_waits() {
  error_code ignored;
  state_->socket.cancel(ignored);
}

void DeadlineSocket::shut_sending() {
  error_code ignored;
  state_->socket.shutdown(tcp::socket::shutdown_send, ignored);
}

void DeadlineSocket::shut() {
  state_->shut = true;
  error_code ignored;
  state_->socket.shutdown(tcp::socket::shutdown_both, ignored);
  state_->socket.cancel(ignored);
}

void DeadlineSocket::reset() {
  error_code ignored;
  state_->socket.set_option(asio::socket_base::linger(true, 0), ignored);
  state_->shut = true;
  state_->socket.cancel(ignored);
}

}  // namespace kvasir::net
