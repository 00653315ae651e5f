#include "api/responses/background_run.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <chrono>
#include <exception>
#include <utility>
#include <vector>

#include "api/answer/answer.h"
#include "api/http/record/request_log.h"
#include "obs/log.h"

namespace kvasir::api {

namespace asio = boost::asio;

namespace {

// Makes the head of a request whose trace continues that of the request that began it.
net::HttpRequest head_of(const Exchange& begun_by) {
  const net::HttpRequest& from = begun_by.request;
  net::HttpRequest head;
  head.method = from.method;
  head.path = from.path;
  head.peer = from.peer;
  head.body_hold = from.body_hold;
  head.headers.emplace_back("traceparent", begun_by.trace->spans->headers().traceparent);
  return head;
}

}  // namespace

BackgroundRun::BackgroundRun(Service& service, Exchange& begun_by)
    : service_(service),
      request_(head_of(begun_by)),
      responder_(begun_by.responder.executor()),
      exchange_{request_, responder_, begun_by.id, begun_by.caller},
      busy_(service.busy),
      wake_(std::make_shared<Wake>(responder_.executor())) {
  begun_by.request.body_hold.reset();
  exchange_.admission = begun_by.admission;
  exchange_.endpoint = begun_by.endpoint;
  exchange_.route = begun_by.route;
  exchange_.errors = begun_by.errors;
  exchange_.num_body_bytes = begun_by.num_body_bytes;
  exchange_.trace = begin_trace(service, request_, begun_by.route);
  exchange_.trace->body = begun_by.trace->body;
}

void BackgroundRun::accept(std::string id, std::string body) {
  id_ = std::move(id);
  body_ = std::move(body);
  running_.emplace(service_.background, id_);
  wake_->timer.cancel();
}

asio::awaitable<void> BackgroundRun::begin(std::shared_ptr<BackgroundRun> run, Question question) {
  asio::co_spawn(run->responder_.executor(), go_on(run, std::move(question)), asio::detached);
  while (!run->is_accepted() && !run->over_) (void)co_await run->wake_->wait(std::chrono::hours(1));
}

asio::awaitable<void> BackgroundRun::go_on(std::shared_ptr<BackgroundRun> run, Question question) {
  const base::TimePoint started = run->service_.clock.now();
  Exchange& exchange = run->exchange_;
  try {
    co_await answer(run->service_, exchange, kResponsesAnswer, std::move(question));
  } catch (const std::exception& e) {
    exchange.error = "internal_error";
    obs::Log::error("background_failed", {{"id", run->id_}, {"reason", e.what()}});
  }
  if (exchange.status == 0) exchange.status = 200;  // it was a stream, which only its readers get
  run->over_ = true;
  if (run->is_accepted())
    note_end(run->service_, exchange, exchange.route, run->service_.clock.now() - started);
  run->running_.reset();
  run->wake_->timer.cancel();
}

asio::awaitable<void> BackgroundRun::refuse(Exchange& client) {
  client.error = exchange_.error;
  std::optional<net::HttpResponse>& held = responder_.answer();
  if (!held) co_return;  // it failed without an answer, so the connection is closed
  client.status = held->status;
  (void)co_await client.responder.send(std::move(*held));
}

}  // namespace kvasir::api
