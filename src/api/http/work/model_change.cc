#include "api/http/work/model_change.h"

#include <chrono>
#include <utility>
#include <variant>

#include "api/http/work/store_task.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;
using router::Residence;
using Stage = router::Residents::Stage;

namespace {

constexpr std::chrono::milliseconds kLeastPause{100};  // between two events of a stream

Status ask(Residence& residence, const std::string& model, ModelWish wish) {
  switch (wish) {
    case ModelWish::loaded:
      return residence.load(model);
    case ModelWish::unloaded:
      return residence.unload(model);
    case ModelWish::pulled:
      return residence.pull(model);
  }
  CHECK(false, "no such wish");
}

Error was_unloaded(const std::string& model, std::string_view meanwhile) {
  return {.code = ErrorCode::conflict,
          .message = fmt::format("'{}' was unloaded while it was being {}", model, meanwhile),
          .field = "model",
          .reason = "model_unloaded"};
}

// A full disk is the server's problem, not a sign of too many requests by the client.
Error failure(Error error) {
  if (error.code == ErrorCode::exhausted) {
    error.code = ErrorCode::io;
    error.reason = "storage_full";
  }
  if (error.reason.empty()) error.reason = "model_failed";
  return error;
}

// Whether the model has got to the wanted state. An error if it never will.
Result<bool> is_done(const Residence::Standing& now, const std::string& model, ModelWish wish) {
  if (wish == ModelWish::unloaded) return now.stage != Stage::leaving;
  if (now.stage == Stage::failed) return failure(*now.error);
  if (wish == ModelWish::pulled) return now.stage != Stage::fetching && now.stage != Stage::leaving;
  if (now.stage == Stage::ready) return true;
  if (!now.comes) return was_unloaded(model, "loaded");
  return false;
}

}  // namespace

ModelChange::ModelChange(Service& service, Exchange& exchange, std::string model, ModelWish wish)
    : service_(service),
      exchange_(exchange),
      key_(service, exchange),
      model_(std::move(model)),
      wish_(wish),
      watch_(*service.residence, model_, Residence::Watcher::onlooker, exchange.responder.executor()) {
  key_.on_end([this] { watch_.wake(); });
  exchange.responder.on_disconnect([this] {
    has_left_ = true;
    watch_.wake();
  });
}

ModelChange::~ModelChange() {
  exchange_.responder.on_disconnect({});
}

asio::awaitable<Status> ModelChange::begin() {
  if (service_.drains()) co_return draining_error(service_);
  if (!watch_.watches()) co_return answers_overloaded();
  StoreWork<std::monostate> work = [&residence = *service_.residence, model = model_,
                                    wish = wish_](store::Store&) { return ask(residence, model, wish); };
  co_return co_await run_on_store<std::monostate>(service_, exchange_, std::move(work));
}

asio::awaitable<Status> ModelChange::follow(const ModelStory* story) {
  std::string told;
  base::TimePoint told_at = service_.clock.now();
  for (;;) {
    const Residence::Standing now = service_.residence->standing(model_);
    Result<bool> done = is_done(now, model_, wish_);
    if (!done.ok()) co_return std::move(done).error();
    if (*done) break;
    if (story != nullptr) {
      std::string news = story->news(now.state);
      if (!news.empty() && news != told)
        told = news;
      else
        news = service_.clock.now() - told_at < service_.options.ping_interval ? "" : story->ping;
      if (!news.empty()) {
        told_at = service_.clock.now();
        Status written = co_await story->writer.write(std::move(news));
        if (!written.ok()) co_return written;
        co_await pause();
      }
    }
    co_await watch_.wait(service_.options.ping_interval);
    if (has_left_) co_return base::error(ErrorCode::cancelled, "the client left");
    if (key_.ended()) co_return key_.why();
    if (service_.drains()) co_return draining_error(service_);
  }
  if (wish_ == ModelWish::pulled) co_return co_await check_pulled();
  co_return base::ok();
}

asio::awaitable<Status> ModelChange::check_pulled() {
  StoreWork<bool> look = [&residence = *service_.residence, model = model_](store::Store&) -> Result<bool> {
    TRY(const hub::Model found, residence.find(model));
    return is_here(found);
  };
  const Result<bool> here = co_await run_on_store<bool>(service_, exchange_, std::move(look));
  if (!here.ok()) co_return here.error();
  if (!*here) co_return was_unloaded(model_, "fetched");
  co_return base::ok();
}

asio::awaitable<void> ModelChange::pause() {
  asio::steady_timer timer(exchange_.responder.executor(), kLeastPause);
  boost::system::error_code ignored;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

}  // namespace kvasir::api
