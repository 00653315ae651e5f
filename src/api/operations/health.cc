#include <algorithm>

#include "api/operations/endpoints.h"
#include "base/json.h"

namespace kvasir::api {

namespace asio = boost::asio;
namespace json = boost::json;
using router::ModelStatus;
using router::Phase;

namespace {

json::object describe(const ModelStatus& model) {
  json::object object;
  object["state"] = name_of(model.state.phase);
  if (model.state.phase == Phase::downloading) object["progress"] = model.state.progress;
  if (model.state.phase == Phase::failed || model.state.phase == Phase::restarting)
    object["reason"] = model.state.reason;
  if (model.report) object["progressing"] = model.report->progressing;
  return object;
}

bool any_in(Phase phase, const std::vector<ModelStatus>& models) {
  return std::ranges::any_of(models, [&](const ModelStatus& model) { return model.state.phase == phase; });
}

bool any_upstream_up(const Service& service) {
  return service.upstreams != nullptr &&
         std::ranges::any_of(service.upstreams->pools(), [](const auto& pool) { return pool->is_up(); });
}

// A pool that has lost all its workers cannot answer.
bool can_answer(const ModelStatus& model) {
  if (model.state.phase != Phase::ready || !model.text) return false;
  return !model.members.empty() || std::holds_alternative<router::EmbedTextPtr>(*model.text);
}

net::HttpResponse answer(std::string_view status, int code, const std::vector<ModelStatus>& models) {
  json::object list;
  for (const ModelStatus& model : models) list[model.name] = describe(model);
  json::object body;
  body["status"] = status;
  body["models"] = std::move(list);
  return net::HttpResponse::json(code, base::json_text(body));
}

}  // namespace

// Answers 200 whenever the process runs and its I/O threads respond.
asio::awaitable<void> handle_live(Service&, Exchange& exchange) {
  co_await reply(exchange, net::HttpResponse::json(200, R"({"status":"live"})"));
}

// Answers 200 if the server can answer requests: at least one model is ready, here or at an upstream, or can
// be loaded on request; the server is not draining; and no engine is about to restart.
asio::awaitable<void> handle_ready(Service& service, Exchange& exchange) {
  const std::vector<ModelStatus> models = service.router.models();
  if (any_in(Phase::restarting, models))
    co_return co_await reply(exchange, answer("restarting", 503, models));
  const bool loads = service.residence != nullptr && service.residence->options().loads_on_request;
  const bool any = loads || std::ranges::any_of(models, can_answer) || any_upstream_up(service);
  const bool draining = service.drains() || service.leaving;
  const std::string_view status = draining ? "draining" : any ? "ready" : "not ready";
  co_await reply(exchange, answer(status, any && !draining ? 200 : 503, models));
}

// Answers 200 if every engine with work has finished a step lately.
asio::awaitable<void> handle_progress(Service& service, Exchange& exchange) {
  const std::vector<ModelStatus> models = service.router.models();
  if (any_in(Phase::restarting, models))
    co_return co_await reply(exchange, answer("restarting", 503, models));
  const bool all = std::all_of(models.begin(), models.end(), [](const ModelStatus& model) {
    return !model.report || model.report->progressing;
  });
  co_await reply(exchange, answer(all ? "progressing" : "stalled", all ? 200 : 503, models));
}

}  // namespace kvasir::api
