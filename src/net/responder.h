#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "net/http_message.h"

namespace kvasir::net {

class HttpConnection;

inline constexpr std::string_view kEventStream = "text/event-stream; charset=utf-8";

// A started answer of unknown length, mostly a text/event-stream. The handler awaits each write before the
// next, so only one chunk is held for a slow reader. Touched on the connection's executor only.
class SseWriter {
 public:
  explicit SseWriter(HttpConnection& connection) : connection_(connection) {}

  // Sends whole events as one chunk with one socket write. Callers should pass all events of a step in one
  // call. After an error nothing more can be sent (cancelled: the peer is gone; timeout: it does not read).
  boost::asio::awaitable<base::Status> write(std::string events);
  // Sends the last events, if any, and ends the stream, with one socket write. The connection may then serve
  // another request. Without this call the peer sees a cut-off answer.
  boost::asio::awaitable<base::Status> finish(std::string events = {});

 private:
  HttpConnection& connection_;
};

// An answer of known length that is sent in pieces. Only one piece is held at a time. Touched on the
// connection's executor only.
class BodyWriter {
 public:
  explicit BodyWriter(HttpConnection& connection) : connection_(connection) {}

  // True if nothing more is to be written: the length is reached, or the request was HEAD.
  bool complete() const;
  // Sends the next bytes, at most as many as are left. If some are missing at the end, the peer sees a
  // cut-off answer.
  boost::asio::awaitable<base::Status> write(std::string piece);

 private:
  HttpConnection& connection_;
};

// Answers one request: with `send`, with `start_stream` and its writer, or with `start_body` and its writer.
// Valid until the handler's coroutine ends, and touched on its executor only.
class Responder {
 public:
  virtual ~Responder() = default;
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;

  // Counts `num_bytes` of an answer, or the piece of it that is held at a time, against the limit for all
  // answers, until the handler ends. False: there is no room, and the answer should be a 503. Small answers
  // always fit. Call it before the bytes are loaded.
  [[nodiscard]] virtual bool reserve(std::size_t num_bytes) = 0;
  // If the answer was not reserved and does not fit, a 503 is sent instead.
  virtual boost::asio::awaitable<base::Status> send(HttpResponse response) = 0;
  // Sends the head of an answer whose body has `num_bytes`. The body of `head` must be empty. The responder
  // owns the writer.
  virtual boost::asio::awaitable<base::Result<BodyWriter*>> start_body(HttpResponse head,
                                                                       std::uint64_t num_bytes) = 0;
  // Sends status 200 and the headers at once. The responder owns the writer. `media` outlives the call.
  virtual boost::asio::awaitable<base::Result<SseWriter*>> start_stream(
      std::vector<HttpHeader> headers, std::string_view media = kEventStream) = 0;

  // Calls `gone` once, on the executor and never inside another call, as soon as the peer closes or resets
  // its side while the handler runs, whether or not anything is being written. It is never called after the
  // handler has ended. A peer that closed only its sending side cannot be distinguished from one that left:
  // it counts as gone, though a handler that goes on can still answer it. The same holds for a peer that
  // sends more than the header limit ahead of its answer.
  virtual void on_disconnect(std::function<void()> gone) = 0;
  virtual bool disconnected() const = 0;
  // True once any part of an answer was sent, so that it is too late for an error status.
  virtual bool started() const = 0;

  // The executor of the one thread that runs this request.
  virtual boost::asio::any_io_executor executor() const = 0;

 protected:
  Responder() = default;
};

// The responder of a connection, which owns it.
class ConnectionResponder final : public Responder {
 public:
  explicit ConnectionResponder(HttpConnection& connection)
      : connection_(connection), events_(connection), body_(connection) {}

  [[nodiscard]] bool reserve(std::size_t num_bytes) override;
  boost::asio::awaitable<base::Status> send(HttpResponse response) override;
  boost::asio::awaitable<base::Result<BodyWriter*>> start_body(HttpResponse head,
                                                               std::uint64_t num_bytes) override;
  boost::asio::awaitable<base::Result<SseWriter*>> start_stream(std::vector<HttpHeader> headers,
                                                                std::string_view media) override;
  void on_disconnect(std::function<void()> gone) override;
  bool disconnected() const override;
  bool started() const override;
  boost::asio::any_io_executor executor() const override;

 private:
  HttpConnection& connection_;
  SseWriter events_;
  BodyWriter body_;
};

// The responder of work that runs without a client. It keeps the answer instead of sending it, refuses
// streams, and never disconnects.
class HeldResponder final : public Responder {
 public:
  explicit HeldResponder(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}

  // The answer, once there is one.
  std::optional<HttpResponse>& answer() { return answer_; }

  [[nodiscard]] bool reserve(std::size_t) override { return true; }
  boost::asio::awaitable<base::Status> send(HttpResponse response) override;
  boost::asio::awaitable<base::Result<BodyWriter*>> start_body(HttpResponse head,
                                                               std::uint64_t num_bytes) override;
  boost::asio::awaitable<base::Result<SseWriter*>> start_stream(std::vector<HttpHeader> headers,
                                                                std::string_view media) override;
  void on_disconnect(std::function<void()>) override {}
  bool disconnected() const override { return false; }
  bool started() const override { return answer_.has_value(); }
  boost::asio::any_io_executor executor() const override { return executor_; }

 private:
  const boost::asio::any_io_executor executor_;
  std::optional<HttpResponse> answer_;
};

}  // namespace kvasir::net
