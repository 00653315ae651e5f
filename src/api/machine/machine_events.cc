#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "api/answer/write/streams.h"
#include "api/http/work/key_watch.h"
#include "api/machine/endpoints.h"
#include "api/machine/machine_view.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Result;
using base::Status;

namespace {

constexpr std::chrono::milliseconds kLookInterval{500};
constexpr std::size_t kEventBytes = 128 * 1024;  // an event of some hundred sequences

std::string event(std::string_view name, const json::object& data) {
  return fmt::format("event: {}\ndata: {}\n\n", name, base::json_text(data));
}

}  // namespace

asio::awaitable<void> handle_machine_events(Service& service, Exchange& exchange) {
  asio::steady_timer timer(exchange.responder.executor());
  KeyWatch watch(service, exchange);
  watch.on_end([&timer] { timer.cancel(); });
  if (!exchange.responder.reserve(kEventBytes)) {
    co_await reply_error(exchange, answers_overloaded());
    co_return;
  }
  Result<net::SseWriter*> writer = co_await start_stream(exchange);
  if (!writer.ok()) co_return;
  MachineView view(service);
  std::string text = event("constants", MachineView::constants());
  while (!service.drains() && !watch.ended()) {
    text += event("look", view.look());
    const Status written = co_await (*writer)->write(std::exchange(text, {}));
    if (!written.ok()) co_return;
    timer.expires_after(kLookInterval);
    boost::system::error_code cancelled;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
  }
  (void)co_await (*writer)->finish();
}

asio::awaitable<void> handle_cancel_request(Service& service, Exchange& exchange) {
  const std::string& id = exchange.parameter("id");
  cancel_runs(service, id);
  const json::object body{{"id", id}, {"object", "request"}, {"cancelled", true}};
  co_await reply(exchange, net::HttpResponse::json(200, base::json_text(body)));
}

}  // namespace kvasir::api
