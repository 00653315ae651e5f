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

// A request with what its connection must know to answer it.
struct ParsedRequest {
  HttpRequest request;
  bool keep_alive = true;
  bool is_head = false;
  bool is_http_1_0 = false;
};

inline WritePace write_pace(const ServerOptions& options) {
  return {options.write_timeout, options.min_read_rate};
}

// The peer left, stayed idle too long, or the server shut the connection: there is no one to answer.
struct ConnectionEnded {};

using ReadOutcome = std::variant<ParsedRequest, RefusedRequest, ConnectionEnded>;

// Reads one request after another from a connection, each within the server's bounds. Bytes beyond a request
// stay for the next. Owned by the connection and touched on its executor only.
class RequestReader {
 public:
  RequestReader(DeadlineSocket& socket, const ServerOptions& options, std::shared_ptr<BodyBudget> bodies)
      : socket_(socket), options_(options), bodies_(std::move(bodies)) {}

  // `quiet_until`: how long a peer may take to send the first byte.
  boost::asio::awaitable<ReadOutcome> next(base::TimePoint quiet_until);

  // True while a peer has sent nothing of its next request.
  bool idle() const { return idle_; }

  // Takes what lies in the socket while a handler runs. end: the peer closed its side; nothing: all was
  // taken; bytes: the peer has sent more than this reader holds ahead.
  DeadlineSocket::Found read_ahead();

  // Reads and drops what a refused peer still sends, for a while, so that closing does not destroy the answer
  // on its way.
  boost::asio::awaitable<void> drain();

 private:
  class Parse;
  boost::asio::awaitable<base::Status> fill(std::size_t at_most, base::TimePoint deadline);
  // Nothing, or why the request ends here.
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
