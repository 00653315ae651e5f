#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "net/body_budget.h"
#include "net/deadline_socket.h"
#include "net/http_message.h"
#include "net/http_server.h"

namespace kvasir::net {

// A request with everything that the connection needs to answer it.
struct ParsedRequest {
  HttpRequest request;
  bool keep_alive = true;
  bool is_head = false;
  bool is_http_1_0 = false;
};

inline WritePace write_pace(const ServerOptions& options) {
  return {options.write_timeout, options.min_read_rate};
}

// The peer left or was idle too long, or the server shut the connection, so no answer can be sent.
struct ConnectionEnded {};

using ReadOutcome = std::variant<ParsedRequest, RefusedRequest, ConnectionEnded>;

// Reads requests from a connection, one after another, each within the server's limits. Bytes after a request
// are kept for the next one. Owned by the connection and touched on its executor only.
class RequestReader {
 public:
  RequestReader(DeadlineSocket& socket, const ServerOptions& options, std::shared_ptr<BodyBudget> bodies)
      : socket_(socket), options_(options), bodies_(std::move(bodies)) {}

  // `quiet_until` is the deadline for the first byte.
  boost::asio::awaitable<ReadOutcome> next(base::TimePoint quiet_until);

  // True while the peer has sent nothing of its next request.
  bool idle() const { return idle_; }

  // Reads the bytes in the socket while a handler runs. end: the peer closed its side; nothing: all bytes
  // were read; bytes: the peer has sent more than this reader buffers.
  DeadlineSocket::Found read_ahead();

  // Reads and drops bytes that a refused peer still sends, for a while, so that closing the socket does not
  // destroy the answer in transit.
  boost::asio::awaitable<void> drain();

 private:
  class Parse;
  boost::asio::awaitable<base::Status> fill(std::size_t at_most, base::TimePoint deadline);
  // Absent if the head is complete; otherwise why the request ends here.
  boost::asio::awaitable<std::optional<ReadOutcome>> read_head(Parse& parse);
  boost::asio::awaitable<std::optional<ReadOutcome>> read_body(Parse& parse, BodyShare& share);
  boost::asio::awaitable<base::Status> send_continue();

  DeadlineSocket& socket_;
  const ServerOptions& options_;
  std::shared_ptr<BodyBudget> bodies_;
  boost::beast::flat_buffer buffer_;
  std::size_t taken_without_waiting_ = 0;
  bool idle_ = true;
};

}  // namespace kvasir::net
