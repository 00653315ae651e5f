#include "net/responder.h"

#include <utility>

#include "net/http_connection.h"

namespace kvasir::net {

namespace asio = boost::asio;

asio::awaitable<base::Status> SseWriter::write(std::string events) {
  return connection_.write_chunk(std::move(events));
}

asio::awaitable<base::Status> SseWriter::finish(std::string events) {
  return connection_.finish_stream(std::move(events));
}

bool BodyWriter::complete() const {
  return connection_.body_complete();
}

asio::awaitable<base::Status> BodyWriter::write(std::string piece) {
  return connection_.write_body(std::move(piece));
}

asio::awaitable<base::Status> ConnectionResponder::send(HttpResponse response) {
  return connection_.send(std::move(response));
}

asio::awaitable<base::Result<SseWriter*>> ConnectionResponder::start_stream(std::vector<HttpHeader> headers,
                                                                            std::string_view media) {
  base::Status started = co_await connection_.start_stream(std::move(headers), media);
  if (!started.ok()) co_return std::move(started).error();
  co_return &events_;
}

asio::awaitable<base::Result<BodyWriter*>> ConnectionResponder::start_body(HttpResponse head,
                                                                           std::uint64_t num_bytes) {
  base::Status started = co_await connection_.start_body(std::move(head), num_bytes);
  if (!started.ok()) co_return std::move(started).error();
  co_return &body_;
}

bool ConnectionResponder::reserve(std::size_t num_bytes) {
  return connection_.reserve(num_bytes);
}

void ConnectionResponder::on_disconnect(std::function<void()> gone) {
  connection_.on_disconnect(std::move(gone));
}

bool ConnectionResponder::disconnected() const {
  return connection_.disconnected();
}

bool ConnectionResponder::started() const {
  return connection_.started();
}

asio::any_io_executor ConnectionResponder::executor() const {
  return connection_.executor();
}

asio::awaitable<base::Status> HeldResponder::send(HttpResponse response) {
  answer_ = std::move(response);
  co_return base::ok();
}

asio::awaitable<base::Result<SseWriter*>> HeldResponder::start_stream(std::vector<HttpHeader>,
                                                                      std::string_view) {
  co_return base::error(base::ErrorCode::cancelled, "nobody reads this stream");
}

asio::awaitable<base::Result<BodyWriter*>> HeldResponder::start_body(HttpResponse, std::uint64_t) {
  co_return base::error(base::ErrorCode::cancelled, "nobody reads this answer");
}

}  // namespace kvasir::net
