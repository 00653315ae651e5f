#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "api/answer/model/auto_model.h"
#include "api/answer/model/known_models.h"
#include "api/answer/upstream_answer.h"
#include "api/http/caller/caller.h"
#include "api/openai/endpoints.h"
#include "api/openai/model_object.h"
#include "base/json.h"

namespace kvasir::api {

namespace asio = boost::asio;
namespace json = boost::json;

namespace {

// "auto" as an entry of the list. It exists if there is a choice: at least two ready models that generate.
std::optional<router::ModelStatus> auto_status(const std::vector<router::ModelStatus>& models) {
  std::optional<router::ModelStatus> status;
  int num_ready = 0;
  for (const router::ModelStatus& model : models) {
    if (model.name == kAutoModel) return std::nullopt;
    if (model.state.phase != router::Phase::ready) continue;
    if (!std::holds_alternative<router::ChatTextPtr>(*model.text)) continue;
    ++num_ready;
    if (!status || common_text(*status->text).context_length < common_text(*model.text).context_length)
      status = model;
  }
  if (num_ready < 2) return std::nullopt;
  status->name = kAutoModel;
  return status;
}

asio::awaitable<base::Result<std::vector<json::object>>> describe_all(Service& service, Exchange& exchange,
                                                                      Unloaded which) {
  base::Result<std::vector<hub::Model>> known = co_await unloaded_models(service, exchange, which);
  if (!known.ok()) co_return std::move(known).error();
  const std::vector<router::ModelStatus> models = service.router.models(reach_of(exchange.caller));
  std::vector<json::object> all;
  all.reserve(models.size() + known->size() + 1);
  for (const router::ModelStatus& model : models) all.push_back(model_object(model, service));
  for (const hub::Model& model : *known)
    if (!upstreams_of(service, exchange.caller, model.name)) all.push_back(unloaded_object(model));
  if (service.upstreams != nullptr)
    for (const auto& pool : service.upstreams->pools())
      if (!service.router.has(pool->name()) && upstreams_of(service, exchange.caller, pool->name()))
        all.push_back(upstream_object(*pool));
  if (const std::optional<router::ModelStatus> status = auto_status(models)) {
    all.push_back(model_object(*status, service));
    for (const char* field : {"capacity", "default_sampling", "memory", "pinned"}) all.back().erase(field);
  }
  co_return all;
}

asio::awaitable<void> reply_models(Service& service, Exchange& exchange, Unloaded which) {
  base::Result<std::vector<json::object>> models = co_await describe_all(service, exchange, which);
  if (!models.ok()) co_return co_await reply_error(exchange, std::move(models).error());
  json::array data;
  for (json::object& model : *models) data.push_back(std::move(model));
  json::object list;
  list["object"] = "list";
  list["first_id"] = data.empty() ? json::value(nullptr) : data.front().at("id");
  list["last_id"] = data.empty() ? json::value(nullptr) : data.back().at("id");
  list["has_more"] = false;
  list["data"] = std::move(data);
  co_await reply(exchange, net::HttpResponse::json(200, base::json_text(list)));
}

}  // namespace

asio::awaitable<void> handle_list_models(Service& service, Exchange& exchange) {
  co_await reply_models(service, exchange, Unloaded::requestable);
}

asio::awaitable<void> handle_machine_models(Service& service, Exchange& exchange) {
  co_await reply_models(service, exchange, Unloaded::loadable);
}

asio::awaitable<void> handle_model(Service& service, Exchange& exchange) {
  const std::string& name = exchange.parameter("model");
  base::Result<std::vector<json::object>> models =
      co_await describe_all(service, exchange, Unloaded::requestable);
  if (!models.ok()) co_return co_await reply_error(exchange, std::move(models).error());
  for (const json::object& model : *models)
    if (model.at("id").as_string() == name) {
      co_await reply(exchange, net::HttpResponse::json(200, base::json_text(model)));
      co_return;
    }
  base::Error missing = base::error(base::ErrorCode::not_found,
                                    "the model '{}' does not exist; GET /v1/models lists them", name);
  missing.field = "model";
  missing.reason = "model_not_found";
  co_await reply_error(exchange, missing);
}

}  // namespace kvasir::api
