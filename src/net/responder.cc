#include "net/responder.h"

#include <utility>

#include "net/http_connection.h"

namespace kvasir::net {

namespace asio = boost::asio;

asio::awaitable<base::Status> SseWriter::write(std::string events) {
  return connection_.write_chunk(std::move(events));
}

asio::awaitable<base::Status> SseWriter::finish() {
  return connection_.finish_stream({});
}

bool BodyWriter::complete() const {
  return connection_.body_complete();
}

asio::awaitable<base::Status> BodyWriter::write(std::string piece) {
  return connection_.write_body(std::move(piece));
}

asio::awaitable<base::Status> Responder::send(HttpResponse response) {
  return connection_.send(std::move(response));
}

asio::awaitable<base::Result<SseWriter*>> Responder::start_stream(std::vector<HttpHeader> headers) {
  base::Status started = co_await connection_.start_stream(std::move(headers));
  if (!started.ok()) co_return std::move(started).error();
  co_return &events_;
}

asio::awaitable<base::Result<BodyWriter*>> Responder::start_body(HttpResponse head, std::uint64_t num_bytes) {
  base::Status started = co_await connection_.start_body(std::move(head), num_bytes);
  if (!started.ok()) co_return std::move(started).error();
  co_return &body_;
}

bool Responder::reserve(std::size_t num_bytes) {
  return connection_.reserve(num_bytes);
}

void Responder::on_disconnect(std::function<void()> gone) {
  connection_.on_disconnect(std::move(gone));
}

bool Responder::disconnected() const {
  return connection_.disconnected();
}

bool Responder::started() const {
  return connection_.started();
}

asio::any_io_executor Responder::executor() const {
  return connection_.executor();
}

}  // namespace kvasir::net
