#include "api/answer/model/await_model.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "api/http/caller/caller.h"
#include "api/http/json/fields.h"
#include "api/http/wait/model_watch.h"
#include "api/http/work/key_watch.h"
#include "api/http/work/store_task.h"
#include "api/http/work/text_task.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;
using Hold = std::optional<router::AnyText>;
using Stage = router::Residents::Stage;

namespace {

bool may_use(const tenancy::Caller& caller, const std::string& model) {
  const std::vector<std::string>& models = caller.tier->models;
  return models.empty() || std::ranges::find(models, model) != models.end();
}

Error not_loaded_in_time(const std::string& model) {
  return {.code = ErrorCode::unavailable,
          .message = fmt::format("'{}' is still being loaded; try again", model),
          .field = "model",
          .reason = "model_not_ready",
          .retry_after_s = 10};
}

Error too_many_wait() {
  return {.code = ErrorCode::unavailable,
          .message = "the server is overloaded: too many requests wait for models; try again",
          .reason = "server_overloaded",
          .retry_after_s = 10};
}

Error could_not_load(const std::string& model, const Error& why) {
  return {.code = ErrorCode::unavailable,
          .message = fmt::format("'{}' could not be loaded: {}", model, why.message),
          .field = "model",
          .reason = "model_failed",
          .retry_after_s = 30};
}

// One request that waits for its model.
class Wait {
 public:
  // `out` is null for an answer that is not a stream: nothing is sent while it waits.
  Wait(Service& service, Exchange& exchange, Outlet* out, WhenLeft when_left, std::string model)
      : service_(service),
        exchange_(exchange),
        out_(out),
        model_(std::move(model)),
        watch_(*service.residence, model_, router::Residence::Watcher::waiting_request,
               exchange.responder.executor()),
        deadline_(service.clock.now() + service.residence->options().max_wait) {
    if (when_left == WhenLeft::give_up)
      exchange.responder.on_disconnect([this] {
        has_left_ = true;
        watch_.wake();
      });
  }
  ~Wait() { exchange_.responder.on_disconnect({}); }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  bool watches() const { return watch_.watches(); }

  // Returns when the model is no longer on its way. Fails if the wait must end: the client left, its key
  // ended, or the time is over.
  asio::awaitable<Status> until_it_came(const KeyWatch& key) {
    while (service_.residence->standing(model_).comes) {
      const base::TimePoint now = service_.clock.now();
      if (now >= deadline_) co_return not_loaded_in_time(model_);
      const base::Duration pause =
          has_begun_ ? service_.options.ping_interval : service_.options.headers_after;
      co_await watch_.wait(std::min<base::Duration>(deadline_ - now, pause));
      if (has_left_) co_return base::error(ErrorCode::cancelled, "the client left");
      if (key.ended()) co_return key.why();
      if (service_.drains()) co_return draining_error(service_);
      Status said = co_await say_something();
      if (!said.ok()) co_return said;
    }
    co_return base::ok();
  }
  void wake() { watch_.wake(); }

 private:
  asio::awaitable<Status> say_something() {
    const base::TimePoint now = service_.clock.now();
    const base::Duration pause = has_begun_ ? service_.options.ping_interval : service_.options.headers_after;
    if (now - last_word_ < pause) co_return base::ok();
    last_word_ = now;
    if (out_ == nullptr) co_return base::ok();
    if (std::exchange(has_begun_, true)) co_return co_await out_->ping();
    co_return co_await out_->start();
  }

  Service& service_;
  Exchange& exchange_;
  Outlet* const out_;
  const std::string model_;
  ModelWatch watch_;
  const base::TimePoint deadline_;
  base::TimePoint last_word_ = service_.clock.now();
  bool has_begun_ = false;  // the stream's headers have been sent
  bool has_left_ = false;
};

// The request that waits.
struct Waiter {
  Waiter(Exchange& exchange_in, KeyWatch& key_in) : exchange(exchange_in), key(key_in) {}
  Exchange& exchange;
  KeyWatch& key;
  Outlet* out = nullptr;  // null if the answer is not a stream: nothing is sent meanwhile
  WhenLeft when_left = WhenLeft::give_up;
};

asio::awaitable<Result<Hold>> await_it(Service& service, Waiter waiter, std::string model) {
  Exchange& exchange = waiter.exchange;
  KeyWatch& key = waiter.key;
  if (!loads_on_request(service) || !may_use(exchange.caller, model)) co_return Hold();
  const router::Reach reach = reach_of(exchange.caller);
  if (auto text = service.router.any_text(model, reach); text.ok()) co_return Hold(std::move(*text));
  const obs::SpanScope span(*exchange.trace->spans, "model load");
  Wait wait(service, exchange, waiter.out, waiter.when_left, model);
  if (!wait.watches()) co_return too_many_wait();
  key.on_end([&wait] { wait.wake(); });
  struct Forget {
    KeyWatch& key;
    ~Forget() { key.on_end({}); }
  } const forget{key};
  for (;;) {
    if (service.drains()) co_return draining_error(service);
    StoreWork<std::monostate> ask = [&residence = *service.residence, model](store::Store&) {
      return residence.request(model);
    };
    Status asked = co_await run_on_store<std::monostate>(service, exchange, std::move(ask));
    if (!asked.ok() && asked.error().code == ErrorCode::not_found && service.router.has(model))
      co_return Hold();  // its files are on their way, and the router says so
    if (!asked.ok()) co_return std::move(asked).error();
    Status came = co_await wait.until_it_came(key);
    if (!came.ok()) co_return std::move(came).error();
    if (auto text = service.router.any_text(model, reach); text.ok()) co_return Hold(std::move(*text));
    const router::Residence::Standing standing = service.residence->standing(model);
    if (standing.error) co_return could_not_load(model, *standing.error);
    if (standing.stage == Stage::ready) co_return Hold();
  }  // the model was unloaded again before it was used, so it is asked for again
}

}  // namespace

bool loads_on_request(const Service& service) {
  return service.residence != nullptr && service.residence->options().loads_on_request;
}

asio::awaitable<Result<Hold>> await_model(Service& service, Outlet& out, std::string model, bool stream) {
  Waiter waiter(out.exchange(), out.key());
  if (stream) waiter.out = &out;
  waiter.when_left = out.when_left();
  co_return co_await await_it(service, waiter, std::move(model));
}

asio::awaitable<Result<Hold>> await_model(Service& service, Exchange& exchange, std::string model) {
  if (!loads_on_request(service)) co_return Hold();
  KeyWatch key(service, exchange);
  const Waiter waiter(exchange, key);
  co_return co_await await_it(service, waiter, std::move(model));
}

asio::awaitable<Result<Hold>> await_model_of(Service& service, Exchange& exchange,
                                             std::shared_ptr<const std::string> body, MeantModel meant) {
  if (!loads_on_request(service)) co_return Hold();
  TextTask<std::string>::Work work =
      [body, max_depth = service.options.max_json_depth](const std::stop_token&) -> Result<std::string> {
    const auto object = parse_object(*body, max_depth);
    const json::value* name = object.ok() ? object->if_contains("model") : nullptr;
    return name != nullptr && name->is_string() ? std::string(name->get_string()) : std::string();
  };
  Result<std::string> model =
      co_await run_text_work<std::string>(service.reading, exchange, body->size(), std::move(work));
  if (!model.ok()) co_return std::move(model).error();
  if (model->empty()) co_return Hold();
  if (meant != nullptr) *model = meant(service, std::move(*model));
  co_return co_await await_model(service, exchange, std::move(*model));
}

Status ask_for_model(Service& service, const tenancy::Caller& caller, const std::string& model) {
  if (!loads_on_request(service) || !may_use(caller, model)) return base::ok();
  if (service.router.any_text(model, reach_of(caller)).ok()) return base::ok();
  const Status asked = service.residence->request(model);
  if (!asked.ok()) return service.router.has(model) ? base::ok() : asked;
  if (service.residence->standing(model).comes) return not_loaded_in_time(model);
  return base::ok();
}

}  // namespace kvasir::api
