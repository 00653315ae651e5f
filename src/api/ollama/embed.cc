#include <chrono>
#include <limits>
#include <string>
#include <utility>

#include "api/answer/answer_embeddings.h"
#include "api/http/object_schema.h"
#include "api/ollama/endpoints.h"
#include "api/ollama/ollama_request.h"
#include "api/ollama/served_name.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Result;
using base::Status;

namespace {

using Request = EmbeddingRequest;

Status read_texts(const json::value& value, Request& request) {
  if (value.is_string()) {
    if (!value.get_string().empty()) request.inputs.emplace_back(std::string(value.get_string()));
    return base::ok();
  }
  if (!value.is_array()) return wrong_type("a string or an array of strings", value);
  const json::array& texts = value.get_array();
  if (texts.size() > kMaxEmbeddingInputs)
    return wrong_value(fmt::format("expected at most {} texts, got {}", kMaxEmbeddingInputs, texts.size()));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    auto text = read_string(texts[i]);
    if (text.ok() && text->empty()) text = wrong_value("expected a text that is not empty");
    if (!text.ok()) return in_field(fmt::format("[{}]", i), std::move(text).error());
    request.inputs.emplace_back(std::move(*text));
  }
  return base::ok();
}

Status read_kept(const json::value& value, Request& request) {
  TRY(const KeepAlive keep_alive, read_keep_alive(value));
  if (keep_alive == KeepAlive::some_time || keep_alive == KeepAlive::not_at_all)
    request.warnings.emplace_back("keep_alive: ignored, a served model stays loaded");
  return base::ok();
}

constexpr Field<Request> kCommonFields[] = {
    {"model",
     [](const json::value& v, Request& r) -> Status {
       TRY(r.model, read_string(v));
       return base::ok();
     },
     kOllamaModelSchema, "one of the models that GET /api/tags lists"},
    {"options",
     [](const json::value& v, Request& r) -> Status { return read_embedding_options(v, r.warnings); },
     kOllamaOptionsSchema},
    {"keep_alive", read_kept, kKeepAliveSchema},
};

constexpr Field<Request> kEmbedFields[] = {
    {"input", read_texts,
     R"({"anyOf": [{"type": "string"}, {"type": "array", "maxItems": 2048, "items": {"type": "string", "minLength": 1}}],
         "description": "Without any, the model is only looked for."})"},
    {"truncate",
     [](const json::value& v, Request& r) -> Status {
       TRY(const bool wanted, read_bool(v));
       r.too_long = wanted ? Request::TooLong::cut : Request::TooLong::refuse;
       return base::ok();
     },
     R"({"type": "boolean", "default": false,
         "description": "Reads as much of a text as the model can, with a warning; otherwise a longer one is an error."})"},
    {"dimensions",
     [](const json::value& v, Request& r) -> Status {
       TRY(const std::int64_t number, read_integer(v, {0, std::numeric_limits<int>::max()}));
       if (number > 0) r.dimensions = static_cast<int>(number);
       return base::ok();
     },
     R"({"type": "integer", "minimum": 0, "maximum": 2147483647,
         "description": "The first so many numbers of a vector, made to be of length 1 again; 0: all."})"},
};

constexpr Field<Request> kOldFields[] = {
    {"prompt",
     [](const json::value& v, Request& r) -> Status {
       TRY(std::string text, read_string(v));
       if (!text.empty()) r.inputs.emplace_back(std::move(text));
       return base::ok();
     },
     R"({"type": "string"})"},
};

Result<Request> read_embed(const json::object& body) {
  Request request;
  TRY_OK(read_fields<Request>(body, kCommonFields, request));
  TRY_OK(read_fields<Request>(body, kEmbedFields, request));
  return request;
}

Result<Request> read_old_embeddings(const json::object& body) {
  Request request;
  request.input_field = "prompt";
  TRY_OK(read_fields<Request>(body, kCommonFields, request));
  TRY_OK(read_fields<Request>(body, kOldFields, request));
  return request;
}

json::array vector_of(const Embedded& done, std::size_t number) {
  const auto begin = done.vectors.begin() + static_cast<std::ptrdiff_t>(number) * done.dimensions;
  return json::array(begin, begin + done.dimensions);
}

void add_warnings(const Embedded& done, json::object& body) {
  if (!done.request.warnings.empty()) body["warnings"] = json::value_from(done.request.warnings);
}

std::string write_old_embeddings(const Embedded& done) {
  json::object body;
  body["embedding"] = done.request.inputs.empty() ? json::array() : vector_of(done, 0);
  add_warnings(done, body);
  return base::json_text(body);
}

// Reads with `read`, and finds the model by one of Ollama's names.
auto reader(Service& service, Exchange& exchange, Result<Request> (*read)(const json::object& body)) {
  return [&service, caller = exchange.caller, read](json::object body) -> Result<Request> {
    TRY(Request request, read(body));
    TRY(request.model, served_name(service, caller, request.model));
    return request;
  };
}

}  // namespace

asio::awaitable<void> handle_ollama_embed(Service& service, Exchange& exchange) {
  auto write = [&clock = service.clock, began = service.clock.now()](const Embedded& done) {
    json::array vectors;
    for (std::size_t i = 0; i < done.request.inputs.size(); ++i) vectors.push_back(vector_of(done, i));
    json::object body{{"model", done.model},
                      {"embeddings", std::move(vectors)},
                      {"total_duration", (clock.now() - began).count()},
                      {"load_duration", 0},
                      {"prompt_eval_count", done.num_tokens}};
    add_warnings(done, body);
    return base::json_text(body);
  };
  EmbeddingKind kind{reader(service, exchange, read_embed), std::move(write)};
  co_await answer_embeddings(service, exchange, std::move(kind));
}

asio::awaitable<void> handle_ollama_embeddings(Service& service, Exchange& exchange) {
  EmbeddingKind kind{reader(service, exchange, read_old_embeddings), write_old_embeddings};
  co_await answer_embeddings(service, exchange, std::move(kind));
}

json::object ollama_embed_schema() {
  return ObjectSchema().add<Request>(kCommonFields).add<Request>(kEmbedFields).take();
}

json::object ollama_embeddings_schema() {
  return ObjectSchema().add<Request>(kCommonFields).add<Request>(kOldFields).take();
}

}  // namespace kvasir::api
