#include "net/responder.h"

#include <utility>

#include "net/http_connection.h"

namespace kvasir::net {

namespace asio = boost::asio;

asio::awaitable<base::Status> SseWriter::write(std::string events) {
  return connection_.write_chunk(std::move(events));
}

asio::awaitable<base::Status> SseWriter::finish() {
  return connection_.finish_stream();
}

asio::awaitable<base::Status> Responder::send(HttpResponse response) {
  return connection_.send(std::move(response));
}

asio::awaitable<base::Result<SseWriter*>> Responder::start_stream(std::vector<HttpHeader> headers) {
  base::Status started = co_await connection_.start_stream(std::move(headers));
  if (!started.ok()) co_return std::move(started).error();
  co_return &writer_;
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
