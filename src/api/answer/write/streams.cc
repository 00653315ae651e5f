#include "api/answer/write/streams.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/answer/write/endpoints.h"
#include "api/http/json/object_schema.h"
#include "api/http/wait/wake.h"
#include "api/http/work/answer_by_store.h"
#include "api/http/work/key_watch.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Result;
using base::Status;

namespace {

constexpr std::size_t kPageBytes = 64 * 1024;

struct StreamQuery {
  std::uint64_t after = 0;
};

Status read_after(const json::value& value, StreamQuery& query) {
  TRY(const std::int64_t number, read_integer(value, {0, std::numeric_limits<std::int64_t>::max()}));
  query.after = static_cast<std::uint64_t>(number);
  return base::ok();
}

constexpr Field<StreamQuery> kQuery[] = {
    {"after", read_after, R"({"type": "integer", "minimum": 0})"},
};

// The query of the request. A browser's EventSource that reconnects sends the number of its last event in a
// header instead.
std::string query_of(const net::HttpRequest& request) {
  const auto last = request.header("last-event-id");
  if (!last || !request.query.empty()) return request.query;
  return fmt::format("after={}", *last);
}

// A reader who follows a log to its end. The constructor is for g++ 12; see net::HttpHeader.
struct Follower {
  Follower(const EventLog& log_in, std::uint64_t after_in, Wake& wake_in, const KeyWatch& key_in,
           ErrorStyle errors_in)
      : log(log_in), after(after_in), wake(wake_in), key(key_in), errors(errors_in) {}

  const EventLog& log;
  std::uint64_t after;  // the number of the last event that the reader has got
  Wake& wake;
  const KeyWatch& key;
  ErrorStyle errors;
};

// Sends the log's events, old and new, until the log or the reader's key ends.
asio::awaitable<Status> follow(Follower who, net::SseWriter& writer, base::Duration ping_interval) {
  while (true) {
    if (who.key.ended()) co_return co_await writer.write(error_event(who.key.why(), who.errors));
    Result<EventLog::Page> page = who.log.read(who.after, kPageBytes);
    std::string events;
    bool over = true;
    if (!page.ok()) {
      events = error_event(page.error(), who.errors);  // the reader was too slow
    } else {
      events = std::move(page->events);
      who.after = page->last;
      over = page->complete;
    }
    if (events.empty() && !over) {
      const bool woken = co_await who.wake.wait(ping_interval);
      if (woken) continue;
      events = ": ping\n\n";
    }
    Status written = base::ok();
    if (!events.empty()) written = co_await writer.write(std::move(events));
    if (!written.ok() || over) co_return written;
  }
}

}  // namespace

asio::awaitable<Result<net::SseWriter*>> start_stream(Exchange& exchange, std::string_view media) {
  std::vector<net::HttpHeader> headers = exchange.headers;
  headers.emplace_back("x-request-id", exchange.id);
  Result<net::SseWriter*> writer = co_await exchange.responder.start_stream(std::move(headers), media);
  if (writer.ok()) exchange.status = 200;
  co_return writer;
}

asio::awaitable<void> replay_log(Service& service, Exchange& exchange, std::shared_ptr<EventLog> log,
                                 std::uint64_t after) {
  const auto wake = std::make_shared<Wake>(exchange.responder.executor());
  const EventLog::Reader reader(log, Wake::call(wake));
  KeyWatch key(service, exchange);
  key.on_end([wake] { wake->timer.cancel(); });
  const Result<EventLog::Page> first = log->read(after, kPageBytes);
  if (!first.ok()) {
    co_await reply_error(exchange, first.error());
    co_return;
  }
  if (!exchange.responder.reserve(kPageBytes)) {
    co_await reply_error(exchange, answers_overloaded());
    co_return;
  }
  Result<net::SseWriter*> writer = co_await start_stream(exchange);
  if (!writer.ok()) co_return;
  const Follower who(*log, after, *wake, key, exchange.errors);
  const Status followed = co_await follow(who, **writer, service.options.ping_interval);
  if (followed.ok()) (void)co_await (*writer)->finish();
}

json::object stream_query_schema() {
  return ObjectSchema().add<StreamQuery>(kQuery).take();
}

asio::awaitable<void> handle_stream(Service& service, Exchange& exchange) {
  StreamQuery query;
  const Status read = read_query<StreamQuery>(query_of(exchange.request), kQuery, query);
  if (!read.ok()) {
    co_await reply_error(exchange, read.error());
    co_return;
  }
  Result<std::shared_ptr<EventLog>> log = service.streams.find(key_of(exchange));
  if (!log.ok()) {
    co_await reply_error(exchange, log.error());
    co_return;
  }
  co_await replay_log(service, exchange, std::move(*log), query.after);
}

asio::awaitable<void> handle_cancel_stream(Service& service, Exchange& exchange) {
  const store::Key key = key_of(exchange);
  const Result<std::shared_ptr<EventLog>> log = service.streams.find(key);
  if (!log.ok()) {
    co_await reply_error(exchange, log.error());
    co_return;
  }
  cancel_runs(service, key.id);
  const json::object body{{"id", key.id}, {"object", "stream"}, {"cancelled", !(*log)->ended()}};
  co_await reply(exchange, net::HttpResponse::json(200, base::json_text(body)));
}

}  // namespace kvasir::api
