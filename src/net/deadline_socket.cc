#include "net/deadline_socket.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include "net/tls_session.h"

namespace kvasir::net {

namespace asio = boost::asio;
using boost::system::error_code;

struct DeadlineSocket::State {
  explicit State(tcp::socket s) : socket(std::move(s)), timer(socket.get_executor()) {}

  tcp::socket socket;
  std::unique_ptr<TlsSession> tls;  // null: plain
  std::int64_t num_given = 0;       // bytes that the system took, without TLS
  asio::steady_timer timer;
  // What a read without bytes waits for. A renewal of TLS keys may have to be written before anything can be
  // read.
  tcp::socket::wait_type read_waits_for = tcp::socket::wait_read;
  asio::cancellation_signal cancel;  // of the wait under way
  std::uint64_t epoch = 0;           // of the wait under way; a timer of an earlier one is stale
  std::uint64_t num_unwatched = 0;
  bool shut = false;

  // One wait for bytes serves both wait_readable and a watch. It goes on after a watch that ended early,
  // since each new wait costs a system call.
  bool awaits_bytes = false;
  bool is_read = false;         // wait_readable runs, and uses the timer
  std::function<void()> watch;  // empty: no watch
};

namespace {

void prepare(DeadlineSocket::tcp::socket& socket) {
  error_code ignored;
  socket.non_blocking(true, ignored);
  socket.set_option(DeadlineSocket::tcp::no_delay(true), ignored);
}

bool would_block(const error_code& error) {
  return error == asio::error::would_block || error == asio::error::try_again ||
         error == asio::error::interrupted;
}

asio::socket_base::wait_type wait_of(TlsSession::Step step) {
  return step == TlsSession::Step::needs_write ? asio::socket_base::wait_write : asio::socket_base::wait_read;
}

}  // namespace

DeadlineSocket::DeadlineSocket(tcp::socket socket) : state_(std::make_shared<State>(std::move(socket))) {
  if (state_->socket.is_open()) prepare(state_->socket);
}

DeadlineSocket::~DeadlineSocket() {
  error_code ignored;
  ++state_->epoch;
  state_->watch = {};
  state_->timer.cancel();
  state_->tls.reset();
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

asio::awaitable<base::Status> DeadlineSocket::connect(tcp::endpoint to, base::TimePoint deadline) {
  tcp::socket& socket = state_->socket;
  error_code error;
  socket.open(to.protocol(), error);
  if (error) co_return base::error(base::ErrorCode::unavailable, "{}", error.message());
  prepare(socket);
  int failure =
      ::connect(socket.native_handle(), to.data(), static_cast<socklen_t>(to.size())) == 0 ? 0 : errno;
  while (failure == EINPROGRESS || failure == ENOTCONN) {
    base::Status ready = co_await wait(tcp::socket::wait_write, deadline);
    if (!ready.ok()) co_return std::move(ready);
    socklen_t size = sizeof failure;
    if (::getsockopt(socket.native_handle(), SOL_SOCKET, SO_ERROR, &failure, &size) != 0) failure = errno;
    if (failure != 0) break;
    (void)socket.remote_endpoint(error);
    failure = error.value();
  }
  if (failure == 0) co_return base::ok();
  co_return base::error(base::ErrorCode::unavailable, "{}", std::generic_category().message(failure));
}

asio::awaitable<base::Status> DeadlineSocket::accept_tls(const TlsContext& context,
                                                         base::TimePoint deadline) {
  state_->tls = TlsSession::server(context, state_->socket.native_handle());
  return shake_hands(deadline);
}

asio::awaitable<base::Status> DeadlineSocket::connect_tls(const TlsContext& context, const std::string& host,
                                                          base::TimePoint deadline) {
  state_->tls = TlsSession::client(context, state_->socket.native_handle(), host);
  return shake_hands(deadline);
}

asio::awaitable<base::Status> DeadlineSocket::shake_hands(base::TimePoint deadline) {
  base::Status status = base::ok();
  while (status.ok()) {
    const TlsSession::Step step = state_->tls->handshake();
    if (step == TlsSession::Step::done) co_return base::ok();
    if (step == TlsSession::Step::failed || step == TlsSession::Step::end) {
      base::ErrorCode code = base::ErrorCode::io;
      if (state_->tls->peer_speaks_http()) code = base::ErrorCode::unsupported;
      if (state_->tls->peer_distrusted()) code = base::ErrorCode::corrupt;
      status = base::error(code, "{}", state_->tls->failure());
    } else {
      status = co_await wait(wait_of(step), deadline);
    }
  }
  state_->tls.reset();
  co_return std::move(status);
}

DeadlineSocket::Taken DeadlineSocket::take(asio::mutable_buffer into) {
  if (state_->tls) {
    const auto [step, num_bytes] = state_->tls->read(into);
    switch (step) {
      case TlsSession::Step::done:
        return {Found::bytes, num_bytes};
      case TlsSession::Step::end:
        return {Found::end, 0};
      case TlsSession::Step::failed:
        return {Found::broken, 0};
      case TlsSession::Step::needs_read:
      case TlsSession::Step::needs_write:
        state_->read_waits_for = wait_of(step);
        return {Found::nothing, 0};
    }
  }
  if (state_->awaits_bytes) return {Found::nothing, 0};
  error_code error;
  const std::size_t n = state_->socket.read_some(into, error);
  if (!error) return {Found::bytes, n};
  if (would_block(error)) return {Found::nothing, 0};
  return {error == asio::error::eof ? Found::end : Found::broken, 0};
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
  // The wait has its own cancellation slot, so that cancelling it does not end a watch.
  co_await state->socket.async_wait(
      what,
      asio::redirect_error(asio::bind_cancellation_slot(state->cancel.slot(), asio::use_awaitable), error));
  ++state->epoch;
  state->timer.cancel();
  if (!error && !state->shut) co_return base::ok();
  if (*timed_out && !state->shut) co_return base::error(base::ErrorCode::timeout, "the peer was too slow");
  co_return base::error(base::ErrorCode::cancelled, "the connection was shut");
}

void DeadlineSocket::await_bytes() {
  if (std::exchange(state_->awaits_bytes, true)) return;
  state_->socket.async_wait(tcp::socket::wait_read, [state = state_](error_code error) {
    state->awaits_bytes = false;
    if (state->is_read) state->timer.cancel();
    if (const auto watch = std::exchange(state->watch, {}); watch && !error) watch();
  });
}

asio::awaitable<base::Status> DeadlineSocket::wait_readable(base::TimePoint deadline) {
  const std::shared_ptr<State> state = state_;
  if (state->read_waits_for == tcp::socket::wait_write)
    co_return co_await wait(tcp::socket::wait_write, deadline);
  if (state->shut) co_return base::error(base::ErrorCode::cancelled, "the connection was shut");
  await_bytes();
  state->is_read = true;
  state->timer.expires_at(deadline);
  error_code ignored;
  co_await state->timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  state->is_read = false;
  if (state->shut) co_return base::error(base::ErrorCode::cancelled, "the connection was shut");
  if (state->awaits_bytes) co_return base::error(base::ErrorCode::timeout, "the peer was too slow");
  co_return base::ok();
}

// The bytes given to the system that the peer has acknowledged.
std::int64_t DeadlineSocket::num_acknowledged() const {
  int outstanding = 0;
  if (ioctl(state_->socket.native_handle(), SIOCOUTQ, &outstanding) != 0) outstanding = 0;
  return (state_->tls ? state_->tls->num_sent() : state_->num_given) - outstanding;
}

// The result of a write that does not wait.
struct DeadlineSocket::Given {
  std::size_t num_bytes = 0;
  std::optional<tcp::socket::wait_type> blocked;  // what the next write has to wait for
  std::string failure;                            // why the peer is gone, if the write failed
};

DeadlineSocket::Given DeadlineSocket::give(std::span<const asio::const_buffer> buffers) {
  if (state_->tls) {
    const auto [step, num_bytes] = state_->tls->write(buffers);
    if (step == TlsSession::Step::done) return {num_bytes, std::nullopt, {}};
    if (step == TlsSession::Step::needs_read || step == TlsSession::Step::needs_write)
      return {0, wait_of(step), {}};
    return {0, std::nullopt, state_->tls->failure()};
  }
  error_code error;
  const std::size_t num_bytes = state_->socket.write_some(buffers, error);
  state_->num_given += static_cast<std::int64_t>(num_bytes);
  if (!error) return {num_bytes, std::nullopt, {}};
  if (would_block(error)) return {0, tcp::socket::wait_write, {}};
  return {0, std::nullopt, error.message()};
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
  std::optional<WriteDeadline> deadline;  // set from the first wait on
  std::int64_t num_before = 0;            // bytes that the peer had at the first wait
  buffers = drop_sent(buffers, 0);
  while (!buffers.empty()) {
    if (state_->shut) co_return base::error(base::ErrorCode::cancelled, "the connection was shut");
    const Given given = give(buffers);
    if (given.num_bytes > 0) {
      buffers = drop_sent(buffers, given.num_bytes);
      continue;
    }
    if (!given.blocked)
      co_return base::error(base::ErrorCode::cancelled, "the peer is gone: {}", given.failure);
    // The socket becomes writable only when a good part of its buffer is free. Acknowledged bytes also show
    // the progress of a reader that takes little at a time.
    const base::TimePoint now = clock.now();
    const std::int64_t num_now = num_acknowledged();
    if (!deadline) {
      deadline.emplace(pace, now);
      num_before = num_now;
    }
    const base::TimePoint until = deadline->after(num_now - num_before, now);
    if (now >= until) co_return base::error(base::ErrorCode::timeout, "the peer was too slow");
    const base::Status ready = co_await wait(*given.blocked, until);
    if (!ready.ok() && ready.error().code != base::ErrorCode::timeout) co_return ready.error();
  }
  co_return base::ok();
}

void DeadlineSocket::watch(std::function<void()> ready) {
  if (state_->tls && state_->tls->may_hold_bytes()) {
    // These bytes were taken from the socket together with the request before, so the socket will not report
    // them as readable.
    asio::post(executor(), [state = state_, ready = std::move(ready), before = state_->num_unwatched] {
      if (before == state->num_unwatched) ready();
    });
    return;
  }
  state_->watch = std::move(ready);
  await_bytes();
}

void DeadlineSocket::unwatch() {
  ++state_->num_unwatched;
  state_->watch = {};
}

asio::awaitable<void> DeadlineSocket::shut_sending(base::TimePoint deadline) {
  while (state_->tls && !state_->shut) {
    const TlsSession::Step step = state_->tls->say_end();
    if (step != TlsSession::Step::needs_write) break;
    const base::Status ready = co_await wait(tcp::socket::wait_write, deadline);
    if (!ready.ok()) break;
  }
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
