#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
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

// How a handler answers its one request: either `send`, or `start_stream` and the writer. It belongs to the
// connection, lives until the handler's coroutine ends, and is touched on the connection's executor only.
class Responder {
 public:
  explicit Responder(HttpConnection& connection) : connection_(connection), writer_(connection) {}
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;

  boost::asio::awaitable<base::Status> send(HttpResponse response);
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
  SseWriter writer_;
};

}  // namespace kvasir::net
