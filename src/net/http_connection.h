#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/body_budget.h"
#include "net/deadline_socket.h"
#include "net/request_reader.h"
#include "net/responder.h"
#include "net/server_state.h"

namespace kvasir::net {

// One accepted connection. It reads a request, runs the handler, and repeats until either side ends it. Lives
// as long as its `run`; touched on its executor only. Handlers use it through Responder and its writers.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(boost::asio::ip::tcp::socket socket, std::shared_ptr<ServerState> state);

  boost::asio::awaitable<void> run();
  // Answers a connection beyond the limit with a 503, and closes it.
  boost::asio::awaitable<void> turn_away();

  // Closes the connection if it waits for its next request.
  void close_if_idle();
  // Closes the connection in any state. A running handler is told that the peer disconnected.
  void cut();

  bool reserve(std::size_t num_bytes);
  boost::asio::awaitable<base::Status> send(HttpResponse response);
  boost::asio::awaitable<base::Status> start_body(HttpResponse head, std::uint64_t num_bytes);
  boost::asio::awaitable<base::Status> write_body(std::string piece);
  bool body_complete() const { return answer_ == Answer::done; }
  boost::asio::awaitable<base::Status> start_stream(std::vector<HttpHeader> headers, std::string_view media);
  boost::asio::awaitable<base::Status> write_chunk(std::string data);
  boost::asio::awaitable<base::Status> finish_stream(std::string data);
  void on_disconnect(std::function<void()> gone);
  bool disconnected() const { return peer_gone_; }
  bool started() const { return answer_ != Answer::none; }
  boost::asio::any_io_executor executor() { return socket_.executor(); }

 private:
  enum class Answer { none, under_way, done };

  // Runs the TLS handshake if the server has a certificate. False: the handshake failed, and the connection
  // was closed.
  boost::asio::awaitable<bool> secure();
  boost::asio::awaitable<void> serve(ParsedRequest& parsed);
  // Answers with an error and closes the connection.
  boost::asio::awaitable<void> refuse(RefusedRequest refusal);
  boost::asio::awaitable<void> close();
  boost::asio::awaitable<base::Status> write(std::span<boost::asio::const_buffer> buffers);
  HttpResponse refusal_response(const RefusedRequest& refusal) const;
  // The lines of the head that describe the body.
  static std::string framing_of(const HttpResponse& response, std::uint64_t num_bytes);
  std::string head_of(int status, const std::vector<HttpHeader>& headers, std::string_view framing) const;
  // The line before a chunk. Empty for HTTP/1.0, which has no chunks.
  std::string size_line(std::string_view chunk) const;
  void watch_peer();
  void look_at_peer(std::uint64_t exchange);
  void report_gone();

  std::shared_ptr<ServerState> state_;
  DeadlineSocket socket_;
  RequestReader reader_;
  std::string peer_;

  // The current exchange.
  std::uint64_t exchange_ = 0;
  Answer answer_ = Answer::none;
  std::uint64_t body_left_ = 0;     // bytes of an answer in pieces
  std::optional<BodyShare> share_;  // of the budget for answers
  bool keep_alive_ = false;
  bool is_head_ = false;
  bool is_http_1_0_ = false;
  bool watching_ = false;
  bool writing_ = false;
  bool peer_gone_ = false;
  bool too_far_ahead_ = false;  // the peer counts as gone, but an answer can still be sent
  std::function<void()> gone_;
};

}  // namespace kvasir::net
