#include <fmt/chrono.h>

#include <string>
#include <string_view>

#include "api/http/caller.h"
#include "api/http/error_map.h"
#include "api/openai/embedding_request.h"
#include "api/openai/endpoints.h"
#include "base/json.h"
#include "kv/block.h"

namespace kvasir::api {

namespace asio = boost::asio;
namespace json = boost::json;

namespace {

json::object limits_of(const router::AnyText& text, const Service& service) {
  if (const auto* embeds = std::get_if<router::EmbedTextPtr>(&text))
    return {{"max_inputs", kMaxEmbeddingInputs}, {"dimensions", (*embeds)->dimensions}};
  return {{"max_output_tokens", common_text(text).context_length - 1},
          {"max_choices", service.options.max_sequences}};
}

json::object capacity_of(const router::ModelStatus& model) {
  json::object capacity;
  if (model.report->num_blocks > 0) {
    capacity["kv_tokens"] = std::int64_t{model.report->num_blocks} * kv::kBlockTokens;
    capacity["kv_tokens_free"] = std::int64_t{model.report->num_free_blocks} * kv::kBlockTokens;
  }
  capacity["running"] = model.report->num_running;
  capacity["waiting"] = model.report->num_waiting;
  capacity["progressing"] = model.report->progressing;
  return capacity;
}

json::object describe(const router::ModelStatus& model, const Service& service) {
  json::object object;
  object["id"] = model.name;
  object["object"] = "model";
  object["created"] = model.created_s;
  object["owned_by"] = "kvasir";
  // The same data in Anthropic's fields.
  object["type"] = "model";
  object["display_name"] = model.name;
  object["created_at"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(model.created_s));
  object["ready"] = model.state.phase == router::Phase::ready;
  object["state"] = name_of(model.state.phase);
  if (model.state.phase == router::Phase::downloading) object["progress"] = model.state.progress;
  if (model.state.phase == router::Phase::failed || model.state.phase == router::Phase::restarting)
    object["reason"] = model.state.reason;
  if (!model.text) return object;
  const int context_length = common_text(*model.text).context_length;
  object["task"] = std::holds_alternative<router::EmbedTextPtr>(*model.text) ? "embed" : "generate";
  object["max_model_len"] = context_length;
  object["context_window"] = context_length;
  object["limits"] = limits_of(*model.text, service);
  object["capacity"] = capacity_of(model);
  return object;
}

}  // namespace

asio::awaitable<void> handle_list_models(Service& service, Exchange& exchange) {
  json::array data;
  for (const router::ModelStatus& model : service.router.models(reach_of(exchange.caller)))
    data.push_back(describe(model, service));
  json::object list;
  list["object"] = "list";
  list["first_id"] = data.empty() ? json::value(nullptr) : data.front().at("id");
  list["last_id"] = data.empty() ? json::value(nullptr) : data.back().at("id");
  list["has_more"] = false;
  list["data"] = std::move(data);
  co_await reply(exchange, net::HttpResponse::json(200, base::json_text(list)));
}

asio::awaitable<void> handle_model(Service& service, Exchange& exchange) {
  const std::string& name = exchange.parameter("model");
  for (const router::ModelStatus& model : service.router.models(reach_of(exchange.caller)))
    if (model.name == name) {
      co_await reply(exchange, net::HttpResponse::json(200, base::json_text(describe(model, service))));
      co_return;
    }
  base::Error missing = base::error(base::ErrorCode::not_found,
                                    "the model '{}' does not exist; GET /v1/models lists them", name);
  missing.field = "model";
  missing.reason = "model_not_found";
  co_await reply_error(exchange, missing);
}

}  // namespace kvasir::api
