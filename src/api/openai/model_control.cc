#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <variant>

#include "api/answer/generate_params.h"
#include "api/answer/read_body.h"
#include "api/answer/streams.h"
#include "api/http/error_map.h"
#include "api/http/key_watch.h"
#include "api/http/model_watch.h"
#include "api/http/object_schema.h"
#include "api/http/store_task.h"
#include "api/openai/endpoints.h"
#include "api/openai/model_object.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;
using router::Residence;
using Stage = router::Residents::Stage;

namespace {

constexpr std::chrono::milliseconds kLeastPause{100};  // between two events of progress

struct ControlRequest {
  std::string model;
  bool stream = false;
};

constexpr Field<ControlRequest> kControlFields[] = {
    {"model",
     [](const json::value& v, ControlRequest& r) -> Status {
       TRY(r.model, read_string(v));
       return base::ok();
     },
     R"({"type": "string", "description": "A name of the catalogue or of the model folder."})",
     "the name of a model"},
    {"stream",
     [](const json::value& v, ControlRequest& r) -> Status {
       TRY(r.stream, read_bool(v));
       return base::ok();
     },
     R"({"type": "boolean", "default": false, "description": "Tell the progress as events."})"},
};

Result<ControlRequest> read_control(json::object body) {
  ControlRequest request;
  TRY_OK(read_fields<ControlRequest>(body, kControlFields, request));
  return request;
}

enum class Wanted : std::uint8_t { loaded, unloaded, pulled };

Status ask(Residence& residence, const std::string& model, Wanted wanted) {
  switch (wanted) {
    case Wanted::loaded:
      return residence.load(model);
    case Wanted::unloaded:
      return residence.unload(model);
    case Wanted::pulled:
      return residence.pull(model);
  }
  CHECK(false, "no such wish");
}

Error was_unloaded(const std::string& model) {
  return {.code = ErrorCode::conflict,
          .message = fmt::format("'{}' was unloaded while it was being loaded", model),
          .field = "model",
          .reason = "model_unloaded"};
}

// Whether what was wanted is there, or why it will not come.
Result<bool> is_done(const Residence::Standing& now, const std::string& model, Wanted wanted) {
  if (wanted == Wanted::unloaded) return now.stage != Stage::leaving;
  if (now.stage == Stage::failed) {
    Error error = *now.error;
    if (error.reason.empty()) error.reason = "model_failed";
    return error;
  }
  if (wanted == Wanted::pulled) return now.stage != Stage::fetching && now.stage != Stage::leaving;
  if (now.stage == Stage::ready) return true;
  if (!now.comes) return was_unloaded(model);
  return false;
}

json::object progress_object(const std::string& model, const router::ModelState& state) {
  json::object object{{"model", model}, {"state", name_of(state.phase)}};
  if (state.phase == router::Phase::downloading) add_progress(state, object);
  return object;
}

// What the model is in the end.
json::object result_object(const Service& service, const std::string& model) {
  for (const router::ModelStatus& status : service.router.models())
    if (status.name == model) return model_object(status, service);
  return {{"id", model},          {"object", "model"}, {"created", 0},
          {"owned_by", "kvasir"}, {"ready", false},    {"state", name_of(router::Phase::unloaded)}};
}

std::string event(const json::object& object) {
  return "data: " + base::json_text(object) + "\n\n";
}

// One request that brings a model or sends it away.
class Control {
 public:
  Control(Service& service, Exchange& exchange, std::string model, Wanted wanted)
      : service_(service),
        exchange_(exchange),
        key_(service, exchange),
        model_(std::move(model)),
        wanted_(wanted),
        watch_(*service.residence, model_, Residence::Watcher::onlooker, exchange.responder.executor()) {
    key_.on_end([this] { watch_.wake(); });
    exchange.responder.on_disconnect([this] {
      has_left_ = true;
      watch_.wake();
    });
  }
  ~Control() { exchange_.responder.on_disconnect({}); }
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  asio::awaitable<Status> begin() {
    if (service_.drains()) co_return draining_error(service_);
    if (!watch_.watches()) co_return answers_overloaded();
    StoreWork<std::monostate> work = [&residence = *service_.residence, model = model_, wanted = wanted_](
                                         store::Store&) { return ask(residence, model, wanted); };
    co_return co_await run_on_store<std::monostate>(service_, exchange_, std::move(work));
  }

  // Waits until it is done. Writes the progress where there is a writer.
  asio::awaitable<Status> follow(net::SseWriter* writer) {
    std::string told;
    base::TimePoint told_at = service_.clock.now();
    for (;;) {
      const Residence::Standing now = service_.residence->standing(model_);
      Result<bool> done = is_done(now, model_, wanted_);
      if (!done.ok()) co_return std::move(done).error();
      if (*done) co_return base::ok();
      if (writer != nullptr) {
        std::string news = event(progress_object(model_, now.state));
        const base::Duration silent = service_.clock.now() - told_at;
        if (news == told) news = silent < service_.options.ping_interval ? "" : ": ping\n\n";
        if (!news.empty()) {
          told_at = service_.clock.now();
          if (news[0] == 'd') told = news;
          Status written = co_await writer->write(std::move(news));
          if (!written.ok()) co_return written;
          co_await pause();
        }
      }
      co_await watch_.wait(service_.options.ping_interval);
      if (has_left_) co_return base::error(ErrorCode::cancelled, "the client left");
      if (key_.ended()) co_return key_.why();
      if (service_.drains()) co_return draining_error(service_);
    }
  }

 private:
  asio::awaitable<void> pause() {
    asio::steady_timer timer(exchange_.responder.executor(), kLeastPause);
    boost::system::error_code ignored;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }

  Service& service_;
  Exchange& exchange_;
  KeyWatch key_;
  const std::string model_;
  const Wanted wanted_;
  ModelWatch watch_;
  bool has_left_ = false;
};

asio::awaitable<void> stream_progress(Service& service, Exchange& exchange, Control& control,
                                      std::string model) {
  Result<net::SseWriter*> writer = co_await start_stream(exchange);
  if (!writer.ok()) co_return;
  const Status done = co_await control.follow(*writer);
  if (!done.ok() && done.error().code == ErrorCode::cancelled) co_return;
  if (!done.ok()) note_error(exchange, done.error());
  const std::string last = done.ok() ? event(result_object(service, model)) + "data: [DONE]\n\n"
                                     : error_event(done.error(), exchange.errors);
  const Status written = co_await (*writer)->write(last);
  if (written.ok()) (void)co_await (*writer)->finish();
}

asio::awaitable<void> change(Service& service, Exchange& exchange, Wanted wanted) {
  Result<ControlRequest> request = co_await read_body<ControlRequest>(service, exchange, read_control);
  if (!request.ok()) co_return co_await reply_error(exchange, std::move(request).error());
  if (service.residence == nullptr)
    co_return co_await reply_error(exchange, not_supported("loading models here is"));
  exchange.model = request->model.substr(0, 200);
  Control control(service, exchange, request->model, wanted);
  const Status begun = co_await control.begin();
  if (!begun.ok()) co_return co_await reply_error(exchange, begun.error());
  if (request->stream) co_return co_await stream_progress(service, exchange, control, request->model);
  const Status done = co_await control.follow(nullptr);
  if (!done.ok()) co_return co_await reply_error(exchange, done.error());
  co_await reply(exchange,
                 net::HttpResponse::json(200, base::json_text(result_object(service, request->model))));
}

}  // namespace

json::object model_control_schema() {
  return ObjectSchema().add<ControlRequest>(kControlFields).take();
}

asio::awaitable<void> handle_load_model(Service& service, Exchange& exchange) {
  co_await change(service, exchange, Wanted::loaded);
}

asio::awaitable<void> handle_unload_model(Service& service, Exchange& exchange) {
  co_await change(service, exchange, Wanted::unloaded);
}

asio::awaitable<void> handle_pull_model(Service& service, Exchange& exchange) {
  co_await change(service, exchange, Wanted::pulled);
}

}  // namespace kvasir::api
