#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/http_message.h"

namespace kvasir::net {

class HttpConnection;

// A started text/event-stream answer. The handler awaits each write before it makes the next one, so nothing
// is held for a slow reader beyond the one chunk in flight. Touched on the connection's executor only.
class SseWriter {
 public:
  explicit SseWriter(HttpConnection& connection) : connection_(connection) {}

  // Sends whole events as one chunk with one socket write; callers put all that a step gave into one call.
  // An error (cancelled: the peer is gone, timeout: it takes nothing) means that nothing more can be sent.
  boost::asio::awaitable<base::Status> write(std::string events);
  // Ends the stream; the connection may then serve another request. Without it the peer sees a cut-off
  // answer.
  boost::asio::awaitable<base::Status> finish();

 private:
  HttpConnection& connection_;
};

// An answer whose length was said and whose bytes follow in pieces, of which only one is held at a time.
// Touched on the connection's executor only.
class BodyWriter {
 public:
  explicit BodyWriter(HttpConnection& connection) : connection_(connection) {}

  // Nothing is to be written any more: the length is reached, or only the head was asked for.
  bool complete() const;
  // Sends the next bytes, no more than are left. Without the last of them the peer sees a cut-off answer.
  boost::asio::awaitable<base::Status> write(std::string piece);

 private:
  HttpConnection& connection_;
};

// How a handler answers its one request: either `send`, or `start_stream` and its writer, or `start_body` and
// its writer. It belongs to the connection, lives until the handler's coroutine ends, and is touched on the
// connection's executor only.
class Responder {
 public:
  explicit Responder(HttpConnection& connection)
      : connection_(connection), events_(connection), body_(connection) {}
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;

  // Counts an answer of so many bytes, or the piece of it that is held at a time, against what all answers
  // may take, until the handler ends. False: there is no room, and a 503 is the answer. A small one always
  // fits. Call it before the bytes are loaded.
  [[nodiscard]] bool reserve(std::size_t num_bytes);
  // One that does not fit, and was not reserved before, becomes a 503.
  boost::asio::awaitable<base::Status> send(HttpResponse response);
  // Sends the head of an answer whose body has `num_bytes`; that of `head` is empty. The writer is the
  // responder's own.
  boost::asio::awaitable<base::Result<BodyWriter*>> start_body(HttpResponse head, std::uint64_t num_bytes);
  // Sends 200 and the headers at once. The writer is the responder's own.
  boost::asio::awaitable<base::Result<SseWriter*>> start_stream(std::vector<HttpHeader> headers);

  // `gone` is called once, on the executor and from no other call's inside, as soon as the peer closes or
  // resets its side while the handler runs, whether or not anything is being written. It is never called
  // after the handler has ended. A peer that only closed its sending side cannot be told from one that left:
  // it counts as gone, though a handler that goes on can still answer it. So does one that sends more than
  // the header limit ahead of its answer.
  void on_disconnect(std::function<void()> gone);
  bool disconnected() const;
  // True once anything of an answer went out: then it is too late for an error status.
  bool started() const;

  // The one thread that runs this request.
  boost::asio::any_io_executor executor() const;

 private:
  HttpConnection& connection_;
  SseWriter events_;
  BodyWriter body_;
};

}  // namespace kvasir::net
