#include <string>
#include <string_view>

#include "api/endpoints.h"
#include "api/error_map.h"
#include "base/json.h"

namespace kvasir::api {

namespace asio = boost::asio;
namespace json = boost::json;

namespace {

json::object describe(const router::ModelStatus& model) {
  json::object object;
  object["id"] = model.name;
  object["object"] = "model";
  object["created"] = model.created_s;
  object["owned_by"] = "kvasir";
  object["ready"] = model.state.phase == router::Phase::ready;
  object["state"] = name_of(model.state.phase);
  if (model.context_length > 0) object["max_model_len"] = model.context_length;
  return object;
}

}  // namespace

asio::awaitable<void> handle_list_models(Service& service, Exchange& exchange) {
  json::array data;
  for (const router::ModelStatus& model : service.router.models()) data.push_back(describe(model));
  json::object list;
  list["object"] = "list";
  list["data"] = std::move(data);
  co_await reply(exchange, net::HttpResponse::json(200, base::json_text(list)));
}

asio::awaitable<void> handle_model(Service& service, Exchange& exchange) {
  const std::string& name = exchange.parameter("model");
  for (const router::ModelStatus& model : service.router.models())
    if (model.name == name) {
      co_await reply(exchange, net::HttpResponse::json(200, base::json_text(describe(model))));
      co_return;
    }
  base::Error missing = base::error(base::ErrorCode::not_found,
                                    "the model '{}' does not exist; GET /v1/models lists them", name);
  missing.field = "model";
  missing.reason = "model_not_found";
  co_await reply_error(exchange, missing);
}

}  // namespace kvasir::api
