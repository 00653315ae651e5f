#include <fmt/chrono.h>

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/answer/auto_model.h"
#include "api/answer/prepare.h"
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

// What is used where a request says nothing.
json::object sampling_object(const wire::SamplingAdvice& advice) {
  const wire::SamplingParams used = sampling_of({}, advice);
  const auto tidy = [](float number) { return std::round(number * 1e6) / 1e6; };  // 0.7, not 0.699999988
  return {{"temperature", tidy(used.temperature)},
          {"top_p", tidy(used.top_p)},
          {"top_k", used.top_k},
          {"min_p", tidy(used.min_p)},
          {"repetition_penalty", tidy(used.repetition_penalty)}};
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
  if (const auto* chat = std::get_if<router::ChatTextPtr>(&*model.text)) {
    object["fill_in_the_middle"] = (*chat)->tokenizer->fim().has_value();
    object["default_sampling"] = sampling_object((*chat)->sampling);
  } else {
    object["score_method"] = "cosine";
  }
  object["capacity"] = capacity_of(model);
  return object;
}

// "auto" as an entry of the list. It is there where it has a choice: from two ready models that generate on.
std::optional<router::ModelStatus> auto_status(const std::vector<router::ModelStatus>& models) {
  std::optional<router::ModelStatus> status;
  int num_ready = 0;
  for (const router::ModelStatus& model : models) {
    if (model.name == kAutoModel) return std::nullopt;
    if (!model.text || !std::holds_alternative<router::ChatTextPtr>(*model.text)) continue;
    ++num_ready;
    if (!status || common_text(*status->text).context_length < common_text(*model.text).context_length)
      status = model;
  }
  if (num_ready < 2) return std::nullopt;
  status->name = kAutoModel;
  return status;
}

std::vector<json::object> describe_all(const Service& service, const Exchange& exchange) {
  const std::vector<router::ModelStatus> models = service.router.models(reach_of(exchange.caller));
  std::vector<json::object> all;
  all.reserve(models.size() + 1);
  for (const router::ModelStatus& model : models) all.push_back(describe(model, service));
  if (const std::optional<router::ModelStatus> status = auto_status(models)) {
    all.push_back(describe(*status, service));
    all.back().erase("capacity");  // that of one model
    all.back().erase("default_sampling");
  }
  return all;
}

}  // namespace

asio::awaitable<void> handle_list_models(Service& service, Exchange& exchange) {
  json::array data;
  for (json::object& model : describe_all(service, exchange)) data.push_back(std::move(model));
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
  for (const json::object& model : describe_all(service, exchange))
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
