#include "api/openai/model_object.h"

#include <fmt/chrono.h>

#include <cmath>
#include <cstdint>
#include <variant>

#include "api/answer/encode/prompt.h"
#include "api/openai/embedding_request.h"
#include "kv/block.h"

namespace kvasir::api {

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

json::object memory_object(const router::ModelMemory& memory) {
  return {{"bytes", memory.sum()},
          {"weights_bytes", memory.weights},
          {"kv_bytes", memory.kv},
          {"workspace_bytes", memory.workspace}};
}

// The sampling settings that apply if a request has none.
json::object sampling_object(const wire::SamplingAdvice& advice) {
  const wire::SamplingParams used = sampling_of({}, advice);
  const auto tidy = [](float number) { return std::round(number * 1e6) / 1e6; };  // 0.7, not 0.699999988
  return {{"temperature", tidy(used.temperature)},
          {"top_p", tidy(used.top_p)},
          {"top_k", used.top_k},
          {"min_p", tidy(used.min_p)},
          {"repetition_penalty", tidy(used.repetition_penalty)}};
}

}  // namespace

json::object model_object(const router::ModelStatus& model, const Service& service) {
  json::object object;
  object["id"] = model.name;
  object["object"] = "model";
  object["created"] = model.created_s;
  object["owned_by"] = "kvasir";
  // The fields below repeat the data as Anthropic's API has it.
  object["type"] = "model";
  object["display_name"] = model.name;
  object["created_at"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(model.created_s));
  object["ready"] = model.state.phase == router::Phase::ready;
  object["state"] = name_of(model.state.phase);
  if (model.state.phase == router::Phase::downloading) add_progress(model.state, object);
  if (model.state.phase == router::Phase::failed || model.state.phase == router::Phase::restarting)
    object["reason"] = model.state.reason;
  if (service.residence != nullptr) object["pinned"] = service.residence->stays(model.name);
  if (!model.text) return object;
  if (model.memory.sum() > 0) object["memory"] = memory_object(model.memory);
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

json::object upstream_object(const upstream::Pool& pool) {
  json::object object{{"id", pool.name()},
                      {"object", "model"},
                      {"created", 0},
                      {"owned_by", "upstream"},
                      {"type", "model"},
                      {"display_name", pool.name()},
                      {"created_at", "1970-01-01T00:00:00Z"},
                      {"ready", pool.is_up()},
                      {"state", name_of(pool.is_up() ? router::Phase::ready : router::Phase::queued)},
                      {"task", "generate"}};
  if (const int length = pool.context_length(); length > 0) {
    object["max_model_len"] = length;
    object["context_window"] = length;
  }
  int in_flight = 0;
  for (const auto& member : pool.members()) in_flight += member->view().in_flight;
  object["capacity"] = {{"running", in_flight}, {"progressing", pool.is_up()}};
  return object;
}

json::object unloaded_object(const hub::Model& model) {
  json::object object{{"id", model.name},
                      {"object", "model"},
                      {"created", 0},
                      {"owned_by", "kvasir"},
                      {"type", "model"},
                      {"display_name", model.name},
                      {"created_at", "1970-01-01T00:00:00Z"},
                      {"ready", false},
                      {"state", name_of(router::Phase::unloaded)},
                      {"local", is_here(model)},
                      {"size_bytes", model.size}};
  if (model.entry != nullptr) object["description"] = model.entry->description;
  return object;
}

void add_progress(const router::ModelState& state, json::object& object) {
  object["progress"] = state.progress;
  if (state.total_bytes == 0) return;
  object["downloaded_bytes"] = state.done_bytes;
  object["download_bytes"] = state.total_bytes;
}

}  // namespace kvasir::api
