#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/answer/encode/prompt.h"
#include "api/answer/model/known_models.h"
#include "api/http/caller/caller.h"
#include "api/http/json/object_schema.h"
#include "api/http/work/read_body.h"
#include "api/ollama/endpoints.h"
#include "api/ollama/ollama_request.h"
#include "api/ollama/ollama_shape.h"
#include "api/ollama/served_name.h"
#include "hub/digest.h"
#include "text/answer/tool_syntax.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Result;
using base::Status;

namespace {

// The version of Ollama that has this API. Clients decide by it which features to use.
constexpr std::string_view kOllamaVersion = "0.12.11";
// When a model expires: never. Clients subtract times, so this is not the last possible time.
constexpr std::string_view kNever = "2200-01-01T00:00:00Z";

const wire::ModelFacts& facts_of(const router::ModelStatus& model) {
  static const wire::ModelFacts kNothing;
  return model.text ? *common_text(*model.text).facts : kNothing;
}

// Writes a number of parameters as "135M" or "1.5B".
std::string size_text(std::int64_t number) {
  const auto in = [&](double unit, const char* name) {
    const double part = std::round(static_cast<double>(number) / unit * 100) / 100;
    return fmt::format("{:.{}f}{}", part, part == std::floor(part) ? 0 : unit < 1e9 ? 2 : 1, name);
  };
  if (number >= 1'000'000'000) return in(1e9, "B");
  if (number >= 1'000'000) return in(1e6, "M");
  return number == 0 ? "" : fmt::format("{}", number);
}

json::object details_of(const wire::ModelFacts& facts) {
  json::array families;
  if (!facts.architecture.empty()) families.emplace_back(facts.architecture);
  return {{"parent_model", ""},
          {"format", facts.format},
          {"family", facts.architecture},
          {"families", std::move(families)},
          {"parameter_size", size_text(facts.num_parameters)},
          {"quantization_level", facts.quantization}};
}

// The digest of the model's file, or one made from its name: clients show its first digits unchecked.
std::string digest_of(const wire::ModelFacts& facts, std::string_view name) {
  if (!facts.digest.empty()) return facts.digest;
  hub::Sha256 hash;
  hash.update(name);
  return hash.finish();
}

json::object list_entry(const router::ModelStatus& model) {
  const wire::ModelFacts& facts = facts_of(model);
  const std::string name = tagged_name(model.name);
  return {{"name", name},
          {"model", name},
          {"size", facts.num_bytes},
          {"digest", digest_of(facts, model.name)},
          {"details", details_of(facts)}};
}

// The facts about a model that is not loaded that are known without reading its files.
wire::ModelFacts unread_facts(const hub::Model& model) {
  wire::ModelFacts facts{.format = model.path.extension() == ".gguf" ? "gguf" : "safetensors"};
  facts.num_bytes = model.size;
  if (model.entry == nullptr) return facts;
  facts.digest = model.entry->files.front().sha256;
  facts.licence = model.entry->licence;
  return facts;
}

json::object list_entry(const hub::Model& model) {
  const wire::ModelFacts facts = unread_facts(model);
  const std::string name = tagged_name(model.name);
  return {{"name", name},
          {"model", name},
          {"size", model.size},
          {"digest", digest_of(facts, model.name)},
          {"details", details_of(facts)},
          {"modified_at", ollama_time(0)}};
}

asio::awaitable<void> reply_models(Exchange& exchange, json::array models) {
  const json::object body{{"models", std::move(models)}};
  co_await reply(exchange, net::HttpResponse::json(200, base::json_text(body)));
}

struct ShowRequest {
  std::string model;
};

constexpr Field<ShowRequest> kShowFields[] = {
    {"name",  // the old name of the field
     [](const json::value& v, ShowRequest& r) -> Status {
       TRY(r.model, read_string(v));
       return base::ok();
     },
     R"({"type": "string", "description": "As `model`."})"},
    {"model",
     [](const json::value& v, ShowRequest& r) -> Status {
       TRY(r.model, read_string(v));
       return base::ok();
     },
     kOllamaModelSchema},
    {"verbose",
     [](const json::value& v, ShowRequest&) -> Status {
       TRY_OK(read_bool(v));
       return base::ok();
     },
     R"({"type": "boolean", "description": "It has no effect: vocabularies are not listed."})"},
};

Result<ShowRequest> read_show(json::object body) {
  ShowRequest request;
  TRY_OK(read_fields<ShowRequest>(body, kShowFields, request));
  if (request.model.empty()) return in_field("model", missing("the name of a model"));
  return request;
}

json::object model_info(const router::ModelText& text) {
  const wire::ModelFacts& facts = *text.facts;
  const std::string family = facts.architecture.empty() ? "unknown" : facts.architecture;
  json::object info{{"general.architecture", family},
                    {"general.basename", text.name},
                    {family + ".context_length", text.context_length}};
  if (facts.num_parameters > 0) info["general.parameter_count"] = facts.num_parameters;
  const auto add = [&](const char* name, int number) {
    if (number > 0) info[family + name] = number;
  };
  add(".embedding_length", facts.embedding_length);
  add(".block_count", facts.num_layers);
  add(".attention.head_count", facts.num_heads);
  add(".attention.head_count_kv", facts.num_kv_heads);
  return info;
}

json::array capabilities_of(const router::AnyText& model) {
  const auto* chat = std::get_if<router::ChatTextPtr>(&model);
  if (chat == nullptr) return {"embedding"};
  json::array capabilities{"completion", "tools"};
  if ((*chat)->tokenizer->fim()) capabilities.emplace_back("insert");
  if (text::template_has_reasoning((*chat)->tokenizer->chat_template()))
    capabilities.emplace_back("thinking");
  return capabilities;
}

// Writes the sampling settings that apply if a request has none, as lines of a Modelfile.
std::string sampling_lines(const wire::SamplingAdvice& advice) {
  const wire::SamplingParams used = sampling_of({}, advice);
  return fmt::format("temperature {:.4g}\ntop_p {:.4g}\ntop_k {}\nmin_p {:.4g}\nrepeat_penalty {:.4g}",
                     used.temperature, used.top_p, used.top_k, used.min_p, used.repetition_penalty);
}

json::object show_body(const router::AnyText& model, std::int64_t created_s) {
  const router::ModelText& text = common_text(model);
  json::object body{{"license", text.facts->licence},
                    {"modelfile", fmt::format("FROM {}\n", text.name)},
                    {"parameters", ""},
                    {"template", ""},
                    {"details", details_of(*text.facts)},
                    {"model_info", model_info(text)},
                    {"capabilities", capabilities_of(model)},
                    {"modified_at", ollama_time(created_s)}};
  if (const auto* chat = std::get_if<router::ChatTextPtr>(&model)) {
    body["parameters"] = sampling_lines((*chat)->sampling);
    body["template"] = (*chat)->chat_template->source();
  }
  return body;
}

// Describes a model whose files have not been read.
json::object show_body(const hub::Model& model) {
  const wire::ModelFacts facts = unread_facts(model);
  return {{"license", facts.licence},
          {"modelfile", fmt::format("FROM {}\n", model.name)},
          {"parameters", ""},
          {"template", ""},
          {"details", details_of(facts)},
          {"model_info", json::object{{"general.architecture", "unknown"}, {"general.basename", model.name}}},
          {"capabilities", json::array()},
          {"modified_at", ollama_time(0)}};
}

// Describes a model that is not served but could be loaded on request.
asio::awaitable<void> show_unloaded(Service& service, Exchange& exchange, const std::string& asked,
                                    base::Error not_served) {
  const auto unloaded = co_await unloaded_models(service, exchange, Unloaded::requestable);
  if (!unloaded.ok()) co_return co_await reply_error(exchange, unloaded.error());
  const std::string name = meant_name(service, asked);
  const auto found = std::ranges::find(*unloaded, name, &hub::Model::name);
  if (found == unloaded->end()) co_return co_await reply_error(exchange, std::move(not_served));
  co_await reply(exchange, net::HttpResponse::json(200, base::json_text(show_body(*found))));
}

}  // namespace

asio::awaitable<void> handle_ollama_tags(Service& service, Exchange& exchange) {
  json::array models;
  for (const router::ModelStatus& model : service.router.models(reach_of(exchange.caller))) {
    json::object entry = list_entry(model);
    entry["modified_at"] = ollama_time(model.created_s);
    models.push_back(std::move(entry));
  }
  const auto unloaded = co_await unloaded_models(service, exchange, Unloaded::requestable);
  if (!unloaded.ok()) co_return co_await reply_error(exchange, unloaded.error());
  for (const hub::Model& model : *unloaded) models.push_back(list_entry(model));
  co_await reply_models(exchange, std::move(models));
}

asio::awaitable<void> handle_ollama_ps(Service& service, Exchange& exchange) {
  json::array models;
  for (const router::ModelStatus& model : service.router.models(reach_of(exchange.caller))) {
    if (!model.text) continue;
    json::object entry = list_entry(model);
    const wire::ModelFacts& facts = facts_of(model);
    const auto size =
        model.memory.sum() > 0 ? static_cast<std::uint64_t>(model.memory.sum()) : facts.num_bytes;
    entry["size"] = size;
    entry["expires_at"] = kNever;
    entry["size_vram"] = facts.on_gpu ? size : 0;
    entry["context_length"] = common_text(*model.text).context_length;
    models.push_back(std::move(entry));
  }
  co_await reply_models(exchange, std::move(models));
}

asio::awaitable<void> handle_ollama_show(Service& service, Exchange& exchange) {
  Result<ShowRequest> request = co_await read_body<ShowRequest>(service, exchange, read_show);
  if (!request.ok()) co_return co_await reply_error(exchange, std::move(request).error());
  Result<std::string> name = served_name(service, exchange.caller, request->model);
  if (!name.ok())
    co_return co_await show_unloaded(service, exchange, request->model, std::move(name).error());
  const router::Reach reach = reach_of(exchange.caller);
  Result<router::AnyText> model = service.router.any_text(*name, reach);
  if (!model.ok()) co_return co_await reply_error(exchange, std::move(model).error());
  std::int64_t created_s = 0;
  for (const router::ModelStatus& status : service.router.models(reach))
    if (status.name == *name) created_s = status.created_s;
  const json::object body = show_body(*model, created_s);
  co_await reply(exchange, net::HttpResponse::json(200, base::json_text(body)));
}

asio::awaitable<void> handle_ollama_version(Service&, Exchange& exchange) {
  const json::object body{{"version", kOllamaVersion}, {"kvasir", KVASIR_VERSION}};
  co_await reply(exchange, net::HttpResponse::json(200, base::json_text(body)));
}

json::object ollama_show_schema() {
  return ObjectSchema().add<ShowRequest>(kShowFields).take();
}

}  // namespace kvasir::api
