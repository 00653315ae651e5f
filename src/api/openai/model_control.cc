#include <string>
#include <utility>

#include "api/answer/question/generate_params.h"
#include "api/answer/write/streams.h"
#include "api/http/json/error_map.h"
#include "api/http/json/object_schema.h"
#include "api/http/work/model_change.h"
#include "api/http/work/read_body.h"
#include "api/openai/endpoints.h"
#include "api/openai/model_object.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

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

json::object progress_object(const std::string& model, const router::ModelState& state) {
  json::object object{{"model", model}, {"state", name_of(state.phase)}};
  if (state.phase == router::Phase::downloading) add_progress(state, object);
  return object;
}

// Describes the model as it is after the change.
json::object result_object(const Service& service, const std::string& model) {
  for (const router::ModelStatus& status : service.router.models())
    if (status.name == model) return model_object(status, service);
  return {{"id", model},          {"object", "model"}, {"created", 0},
          {"owned_by", "kvasir"}, {"ready", false},    {"state", name_of(router::Phase::unloaded)}};
}

std::string event(const json::object& object) {
  return "data: " + base::json_text(object) + "\n\n";
}

asio::awaitable<void> stream_progress(Service& service, Exchange& exchange, ModelChange& change,
                                      std::string model) {
  Result<net::SseWriter*> writer = co_await start_stream(exchange);
  if (!writer.ok()) co_return;
  const ModelStory story{
      **writer, [&model](const router::ModelState& state) { return event(progress_object(model, state)); },
      ": ping\n\n"};
  const Status done = co_await change.follow(&story);
  if (!done.ok() && done.error().code == ErrorCode::cancelled) co_return;
  if (!done.ok()) note_error(exchange, done.error());
  const std::string last = done.ok() ? event(result_object(service, model)) + "data: [DONE]\n\n"
                                     : error_event(done.error(), exchange.errors);
  const Status written = co_await (*writer)->write(last);
  if (written.ok()) (void)co_await (*writer)->finish();
}

asio::awaitable<void> control(Service& service, Exchange& exchange, ModelWish wish) {
  Result<ControlRequest> request = co_await read_body<ControlRequest>(service, exchange, read_control);
  if (!request.ok()) co_return co_await reply_error(exchange, std::move(request).error());
  if (service.residence == nullptr)
    co_return co_await reply_error(exchange, not_supported("loading models here is"));
  exchange.model = request->model.substr(0, 200);
  ModelChange change(service, exchange, request->model, wish);
  const Status begun = co_await change.begin();
  if (!begun.ok()) co_return co_await reply_error(exchange, begun.error());
  if (request->stream) co_return co_await stream_progress(service, exchange, change, request->model);
  const Status done = co_await change.follow(nullptr);
  if (!done.ok()) co_return co_await reply_error(exchange, done.error());
  co_await reply(exchange,
                 net::HttpResponse::json(200, base::json_text(result_object(service, request->model))));
}

}  // namespace

json::object model_control_schema() {
  return ObjectSchema().add<ControlRequest>(kControlFields).take();
}

asio::awaitable<void> handle_load_model(Service& service, Exchange& exchange) {
  co_await control(service, exchange, ModelWish::loaded);
}

asio::awaitable<void> handle_unload_model(Service& service, Exchange& exchange) {
  co_await control(service, exchange, ModelWish::unloaded);
}

asio::awaitable<void> handle_pull_model(Service& service, Exchange& exchange) {
  co_await control(service, exchange, ModelWish::pulled);
}

}  // namespace kvasir::api
