#include "net/http_connection.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <ctime>
#include <exception>
#include <iterator>
#include <utility>

#include "base/json.h"
#include "obs/log.h"

namespace kvasir::net {

namespace asio = boost::asio;

namespace {

std::string openai_error(const RefusedRequest& refusal) {
  base::json::object error;
  error["message"] = refusal.message;
  error["type"] = refusal.status >= 500 ? "server_error" : "invalid_request_error";
  error["param"] = nullptr;
  error["code"] = refusal.code;
  return base::json_text(base::json::object{{"error", std::move(error)}});
}

void copy_headers(RefusedRequest& refusal, const HttpRequest& request) {
  refusal.request_id = request.header("x-request-id").value_or("");
  refusal.origin = request.header("origin").value_or("");
}

bool has_body(int status) {
  return status >= 200 && status != 204 && status != 304;
}

// The time for TLS to send its end to a peer whose window is full.
constexpr base::Duration kGoodbyeTime = std::chrono::seconds(2);
// Answers up to this size are not counted, since an error must go out even if other answers hold the whole
// budget.
constexpr std::size_t kSmallAnswer = 16 * 1024;
constexpr std::size_t kUsualHead = 1024;

std::string answers_too_large(std::size_t max_bytes) {
  return fmt::format(
      "The answers that wait for their readers take all of the {} bytes that they may. Try again.",
      max_bytes);
}

// The line is made once a second, since it costs more than the rest of a head.
const std::string& date_line() {
  thread_local std::time_t second = -1;
  thread_local std::string line;
  if (const std::time_t now = std::time(nullptr); now != second) {
    second = now;
    line = fmt::format("Date: {:%a, %d %b %Y %H:%M:%S} GMT\r\n", fmt::gmtime(now));
  }
  return line;
}

asio::ip::tcp::socket with_send_buffer(asio::ip::tcp::socket socket, int num_bytes) {
  boost::system::error_code ignored;
  if (num_bytes > 0) socket.set_option(asio::socket_base::send_buffer_size(num_bytes), ignored);
  return socket;
}

}  // namespace

HttpConnection::HttpConnection(asio::ip::tcp::socket socket, std::shared_ptr<ServerState> state)
    : state_(std::move(state)),
      socket_(with_send_buffer(std::move(socket), state_->options.send_buffer_bytes)),
      reader_(socket_, state_->options, state_->bodies) {}

asio::awaitable<void> HttpConnection::run() {
  const std::shared_ptr<HttpConnection> self = shared_from_this();
  const ServerOptions& options = state_->options;
  const bool secured = co_await secure();
  if (!secured) co_return;
  base::TimePoint quiet_until = base::RealClock().now() + options.header_timeout;
  while (!peer_gone_) {
    ReadOutcome outcome = co_await reader_.next(quiet_until);
    if (auto* refusal = std::get_if<RefusedRequest>(&outcome)) {
      ++state_->stats.refused_requests;
      is_head_ = false;
      co_await refuse(std::move(*refusal));
      break;
    }
    auto* parsed = std::get_if<ParsedRequest>(&outcome);
    if (parsed == nullptr) co_return;
    co_await serve(*parsed);
    if (answer_ == Answer::under_way) {
      // The answer was cut off. The missing last chunk or length shows that, but an HTTP/1.0 stream needs a
      // reset.
      if (is_http_1_0_) socket_.reset();
      co_return;
    }
    // Pipelined requests could be handled without ever waiting. The post gives other connections a turn.
    co_await asio::post(executor(), asio::use_awaitable);
    if (!keep_alive_ || state_->draining) break;
    quiet_until = base::RealClock().now() + options.idle_timeout;
  }
  co_await close();
}

asio::awaitable<bool> HttpConnection::secure() {
  if (!state_->certificates) co_return true;
  const std::shared_ptr<const TlsContext> context = state_->certificates->current();
  const base::Status done =
      co_await socket_.accept_tls(*context, base::RealClock().now() + state_->options.header_timeout);
  if (done.ok()) co_return true;
  ++state_->stats.failed_handshakes;
  obs::Log::debug("tls_handshake_failed", {{"peer", socket_.peer()}, {"reason", done.error().message}});
  const base::ErrorCode code = done.error().code;
  if (code == base::ErrorCode::timeout || code == base::ErrorCode::cancelled) co_return false;
  if (code == base::ErrorCode::unsupported) {
    RefusedRequest refusal(400, "https_expected",
                           "A plain HTTP request came to a port for HTTPS. Use https:// instead.");
    co_await refuse(std::move(refusal));
  }
  co_await close();
  co_return false;
}

asio::awaitable<void> HttpConnection::close() {
  co_await socket_.shut_sending(base::RealClock().now() + kGoodbyeTime);
  if (!peer_gone_ || too_far_ahead_) co_await reader_.drain();
}

asio::awaitable<void> HttpConnection::serve(ParsedRequest& parsed) {
  if (peer_.empty()) peer_ = socket_.peer();
  parsed.request.peer = peer_;
  ++state_->stats.requests;
  const Presence active(*state_, state_->stats.active_requests);
  answer_ = Answer::none;
  keep_alive_ = parsed.keep_alive;
  is_head_ = parsed.is_head;
  is_http_1_0_ = parsed.is_http_1_0;
  bool threw = false;
  {
    ConnectionResponder responder(*this);
    try {
      co_await state_->handler(parsed.request, responder);
    } catch (const std::exception& e) {
      threw = true;
      obs::Log::error("handler_failed", {{"path", parsed.request.path}, {"reason", e.what()}});
    } catch (...) {
      threw = true;
      obs::Log::error("handler_failed", {{"path", parsed.request.path}});
    }
  }
  share_.reset();
  ++exchange_;
  gone_ = nullptr;
  if (watching_) socket_.unwatch();
  watching_ = false;
  if (answer_ == Answer::none && too_far_ahead_) {
    RefusedRequest failure(400, "sent_too_far_ahead",
                           fmt::format("More than {} bytes were sent ahead of the answer to this request.",
                                       state_->options.max_header_bytes));
    copy_headers(failure, parsed.request);
    co_await refuse(std::move(failure));
  } else if (answer_ == Answer::none && !peer_gone_) {
    RefusedRequest failure(
        500, "internal_error",
        threw ? "The server failed while it handled the request." : "The server did not answer the request.");
    copy_headers(failure, parsed.request);
    co_await refuse(std::move(failure));
  }
}

HttpResponse HttpConnection::refusal_response(const RefusedRequest& refusal) const {
  const auto& answer = state_->options.refusal;
  HttpResponse response =
      answer ? answer(refusal) : HttpResponse::json(refusal.status, openai_error(refusal));
  if (refusal.status == 503) response.headers.push_back({"Retry-After", "1"});
  return response;
}

asio::awaitable<void> HttpConnection::refuse(RefusedRequest refusal) {
  HttpResponse response = refusal_response(refusal);
  keep_alive_ = false;
  answer_ = Answer::none;
  const base::Status sent = co_await send(std::move(response));
  if (!sent.ok()) peer_gone_ = true;
}

asio::awaitable<void> HttpConnection::turn_away() {
  const std::shared_ptr<HttpConnection> self = shared_from_this();
  const bool secured = co_await secure();
  if (!secured) co_return;
  RefusedRequest refusal(503, "too_many_connections", "The server has too many open connections. Try again.");
  co_await refuse(std::move(refusal));
  co_await close();
}

std::string HttpConnection::head_of(int status, const std::vector<HttpHeader>& headers,
                                    std::string_view framing) const {
  std::string head;
  head.reserve(kUsualHead);
  head += "HTTP/1.1 ";
  head += fmt::format_int(status).c_str();
  head += ' ';
  head += reason_phrase(status);
  head += "\r\nServer: kvasir\r\n";
  head += date_line();
  if (!keep_alive_) {
    head += "Connection: close\r\n";
  } else if (is_http_1_0_) {
    head += "Connection: keep-alive\r\n";
  }
  for (const HttpHeader& h : headers) append_field(head, h.name, h.value);
  head += framing;
  head += "\r\n";
  return head;
}

asio::awaitable<base::Status> HttpConnection::write(std::span<asio::const_buffer> buffers) {
  CHECK(!writing_, "two writes at once on one connection");
  writing_ = true;
  const auto num_bytes = static_cast<std::int64_t>(asio::buffer_size(buffers));
  state_->stats.unsent_bytes.fetch_add(num_bytes, std::memory_order_relaxed);
  base::Status written = co_await socket_.write(buffers, write_pace(state_->options));
  state_->stats.unsent_bytes.fetch_sub(num_bytes, std::memory_order_relaxed);
  writing_ = false;
  if (!written.ok()) {
    if (written.error().code == base::ErrorCode::timeout) socket_.reset();
    keep_alive_ = false;
    report_gone();
  }
  co_return std::move(written);
}

bool HttpConnection::reserve(std::size_t num_bytes) {
  if (num_bytes <= kSmallAnswer) return true;
  if (!share_) share_.emplace(state_->answers);
  return share_->cover(num_bytes);
}

std::string HttpConnection::framing_of(const HttpResponse& response, std::uint64_t num_bytes) {
  std::string framing;
  if (!response.content_type.empty()) append_field(framing, "Content-Type", response.content_type);
  if (has_body(response.status))
    fmt::format_to(std::back_inserter(framing), "Content-Length: {}\r\n", num_bytes);
  return framing;
}

asio::awaitable<base::Status> HttpConnection::send(HttpResponse response) {
  CHECK(answer_ == Answer::none, "a second answer to one request");
  answer_ = Answer::done;
  if (!reserve(response.body.size())) {
    RefusedRequest refusal(503, "server_overloaded", answers_too_large(state_->answers->max_bytes()));
    response = refusal_response(refusal);
  }
  if (state_->draining || !response.keep_alive) keep_alive_ = false;
  const std::string head =
      head_of(response.status, response.headers, framing_of(response, response.body.size()));
  const bool bare = is_head_ || !has_body(response.status);
  std::array<asio::const_buffer, 2> buffers{asio::buffer(head),
                                            bare ? asio::const_buffer() : asio::buffer(response.body)};
  co_return co_await write(buffers);
}

asio::awaitable<base::Status> HttpConnection::start_body(HttpResponse response, std::uint64_t num_bytes) {
  CHECK(answer_ == Answer::none, "a second answer to one request");
  CHECK(has_body(response.status) && response.body.empty(), "an answer in pieces begins with its head alone");
  body_left_ = is_head_ ? 0 : num_bytes;
  answer_ = body_left_ == 0 ? Answer::done : Answer::under_way;
  if (state_->draining || !response.keep_alive) keep_alive_ = false;
  const std::string head = head_of(response.status, response.headers, framing_of(response, num_bytes));
  std::array<asio::const_buffer, 1> buffers{asio::buffer(head)};
  co_return co_await write(buffers);
}

asio::awaitable<base::Status> HttpConnection::write_body(std::string piece) {
  CHECK(answer_ == Answer::under_way && piece.size() <= body_left_, "more than the answer's length");
  std::array<asio::const_buffer, 1> buffers{asio::buffer(piece)};
  base::Status written = co_await write(buffers);
  if (!written.ok()) co_return std::move(written);
  body_left_ -= piece.size();
  if (body_left_ == 0) answer_ = Answer::done;
  co_return base::ok();
}

asio::awaitable<base::Status> HttpConnection::start_stream(std::vector<HttpHeader> headers,
                                                           std::string_view media) {
  CHECK(answer_ == Answer::none, "a second answer to one request");
  answer_ = Answer::under_way;
  if (state_->draining || is_http_1_0_) keep_alive_ = false;
  std::string framing;
  framing.reserve(kUsualHead);
  append_field(framing, "Content-Type", media);
  framing += "Cache-Control: no-cache\r\nX-Accel-Buffering: no\r\n";
  if (!is_http_1_0_) framing += "Transfer-Encoding: chunked\r\n";
  const std::string head = head_of(200, headers, framing);
  std::array<asio::const_buffer, 1> buffers{asio::buffer(head)};
  co_return co_await write(buffers);
}

std::string HttpConnection::size_line(std::string_view chunk) const {
  return is_http_1_0_ || chunk.empty() ? std::string() : fmt::format("{:x}\r\n", chunk.size());
}

asio::awaitable<base::Status> HttpConnection::write_chunk(std::string data) {
  CHECK(answer_ == Answer::under_way, "a write to a stream that is not open");
  if (data.empty() || is_head_) co_return base::ok();
  const std::string size = size_line(data);
  const std::string_view end = is_http_1_0_ ? "" : "\r\n";
  std::array<asio::const_buffer, 3> buffers{asio::buffer(size), asio::buffer(data), asio::buffer(end)};
  co_return co_await write(buffers);
}

asio::awaitable<base::Status> HttpConnection::finish_stream(std::string data) {
  CHECK(answer_ == Answer::under_way, "the end of a stream that is not open");
  answer_ = Answer::done;
  if (is_head_ || (is_http_1_0_ && data.empty())) co_return base::ok();
  const std::string size = size_line(data);
  const std::string_view end = is_http_1_0_ ? "" : data.empty() ? "0\r\n\r\n" : "\r\n0\r\n\r\n";
  std::array<asio::const_buffer, 3> buffers{asio::buffer(size), asio::buffer(data), asio::buffer(end)};
  co_return co_await write(buffers);
}

void HttpConnection::on_disconnect(std::function<void()> gone) {
  gone_ = std::move(gone);
  if (peer_gone_) {
    peer_gone_ = false;
    report_gone();
  } else if (!watching_) {
    watching_ = true;
    watch_peer();
  }
}

void HttpConnection::watch_peer() {
  // A weak pointer, since the connection owns the socket that holds this function.
  socket_.watch([weak = weak_from_this(), exchange = exchange_] {
    if (const std::shared_ptr<HttpConnection> self = weak.lock()) self->look_at_peer(exchange);
  });
}

void HttpConnection::look_at_peer(std::uint64_t exchange) {
  if (exchange != exchange_ || peer_gone_) return;
  switch (reader_.read_ahead()) {
    case DeadlineSocket::Found::nothing:
      return watch_peer();
    case DeadlineSocket::Found::end:
    case DeadlineSocket::Found::broken:
      return report_gone();
    case DeadlineSocket::Found::bytes:
      // The peer sent more than the reader buffers. Unread bytes would hide its end of stream, and it could
      // send without limit, so it counts as gone.
      too_far_ahead_ = true;
      return report_gone();
  }
}

void HttpConnection::report_gone() {
  if (peer_gone_) return;
  peer_gone_ = true;
  keep_alive_ = false;
  if (!gone_) return;
  ++state_->stats.disconnects;
  // Posted, so that `gone_` never runs inside a call of the handler.
  asio::post(executor(), [self = shared_from_this(), exchange = exchange_] {
    if (exchange != self->exchange_ || !self->gone_) return;
    const std::function<void()> gone = std::exchange(self->gone_, nullptr);
    gone();
  });
}

void HttpConnection::close_if_idle() {
  if (reader_.idle()) socket_.shut();
}

void HttpConnection::cut() {
  socket_.shut();
  report_gone();
}

}  // namespace kvasir::net
