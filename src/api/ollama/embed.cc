#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "api/answer/vectors/answer_by_vectors.h"
#include "api/http/json/object_schema.h"
#include "api/ollama/endpoints.h"
#include "api/ollama/ollama_request.h"
#include "api/ollama/served_name.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Result;
using base::Status;

namespace {

// A checked body of /api/embed, or of /api/embeddings.
struct EmbedBody {
  std::string model;
  std::vector<std::string> texts;
  std::string_view field = "input";  // the texts' name in the body
  bool truncates = false;            // whether a text that is too long is cut
  int dimensions = 0;                // 0: all dimensions of the model
  std::vector<std::string> warnings = {};
};
using Request = EmbedBody;

Status read_texts(const json::value& value, Request& request) {
  if (value.is_string()) {
    if (!value.get_string().empty()) request.texts.emplace_back(value.get_string());
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
    request.texts.emplace_back(std::move(*text));
  }
  return base::ok();
}

Status read_kept(const json::value& value, Request& request) {
  TRY(const KeepAlive keep_alive, read_keep_alive(value));
  if (keep_alive == KeepAlive::some_time || keep_alive == KeepAlive::not_at_all)
    request.warnings.emplace_back(kKeepAliveIgnored);
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
       TRY(r.truncates, read_bool(v));
       return base::ok();
     },
     R"({"type": "boolean", "default": false,
         "description": "Reads as much of a text as the model can, with a warning; otherwise a longer one is an error."})"},
    {"dimensions",
     [](const json::value& v, Request& r) -> Status {
       TRY(const std::int64_t number, read_integer(v, {0, std::numeric_limits<int>::max()}));
       r.dimensions = static_cast<int>(number);
       return base::ok();
     },
     R"({"type": "integer", "minimum": 0, "maximum": 2147483647,
         "description": "The first so many numbers of a vector, made to be of length 1 again; 0: all."})"},
};

constexpr Field<Request> kOldFields[] = {
    {"prompt",
     [](const json::value& v, Request& r) -> Status {
       TRY(std::string text, read_string(v));
       if (!text.empty()) r.texts.emplace_back(std::move(text));
       return base::ok();
     },
     R"({"type": "string"})"},
};

constexpr std::size_t kMaxWarnings = 8;

// Adds a text. If it is too long and the request allows it, the text is cut to what the model can read.
Status add_text(const EmbedReading& reading, std::size_t i, Request& request, EmbedJob& job) {
  const std::string field =
      request.texts.size() > 1 ? fmt::format("{}[{}]", request.field, i) : std::string(request.field);
  const TextOrTokens text = std::move(request.texts[i]);
  Status added = reading.add(job, text, field);
  if (added.ok() || !request.truncates || added.error().reason != "context_length_exceeded") return added;
  const int most = job.model->context_length;
  if (request.warnings.size() < kMaxWarnings)
    request.warnings.push_back(fmt::format("{}: cut to the {} tokens that the model reads", field, most));
  return reading.add(job, text, field, most);
}

Result<EmbedJob> make_job(const EmbedReading& reading, Request& request) {
  TRY(const std::string name, served_name(reading.service, reading.caller, request.model));
  TRY(EmbedJob job, reading.job_for(name));
  if (request.dimensions > job.model->dimensions)
    return in_field("dimensions",
                    wrong_value(fmt::format("the model's vectors have {} numbers", job.model->dimensions)));
  for (std::size_t i = 0; i < request.texts.size(); ++i) TRY_OK(add_text(reading, i, request, job));
  return job;
}

// Returns the vectors, each with as many numbers as the request wants.
json::array wanted_vectors(const EmbedJob& done, std::vector<float> vectors, int dimensions) {
  const int most = done.model->dimensions;
  if (dimensions == 0) dimensions = most;
  if (dimensions < most) vectors = shorter_vectors(vectors, most, dimensions);
  json::array list;
  for (auto begin = vectors.begin(); begin != vectors.end(); begin += dimensions)
    list.push_back(json::array(begin, begin + dimensions));
  return list;
}

Result<EmbedQuestion> read_embed(json::object body, const EmbedReading& reading) {
  const base::TimePoint began = reading.service.clock.now();
  Request request;
  static const ObjectSchema known = ObjectSchema().add<Request>(kCommonFields).add<Request>(kEmbedFields);
  known.warn_of_others(body, request.warnings);
  TRY_OK(read_fields<Request>(body, kCommonFields, request));
  TRY_OK(read_fields<Request>(body, kEmbedFields, request));
  TRY(EmbedJob job, make_job(reading, request));
  return EmbedQuestion(std::move(job), std::move(request.warnings),
                       [&clock = reading.service.clock, began, dimensions = request.dimensions](
                           const EmbedJob& done, std::vector<float> vectors) -> json::object {
                         return {{"model", done.model->name},
                                 {"embeddings", wanted_vectors(done, std::move(vectors), dimensions)},
                                 {"total_duration", (clock.now() - began).count()},
                                 {"load_duration", 0},
                                 {"prompt_eval_count", done.num_tokens}};
                       });
}

Result<EmbedQuestion> read_old_embeddings(json::object body, const EmbedReading& reading) {
  Request request;
  request.field = "prompt";
  static const ObjectSchema known = ObjectSchema().add<Request>(kCommonFields).add<Request>(kOldFields);
  known.warn_of_others(body, request.warnings);
  TRY_OK(read_fields<Request>(body, kCommonFields, request));
  TRY_OK(read_fields<Request>(body, kOldFields, request));
  TRY(EmbedJob job, make_job(reading, request));
  return EmbedQuestion(
      std::move(job), std::move(request.warnings),
      [](const EmbedJob& done, std::vector<float> vectors) -> json::object {
        json::array list = wanted_vectors(done, std::move(vectors), 0);
        return {{"embedding", list.empty() ? json::value(json::array()) : std::move(list.front())}};
      });
}

}  // namespace

asio::awaitable<void> handle_ollama_embed(Service& service, Exchange& exchange) {
  co_await answer_by_vectors(service, exchange, read_embed, meant_name);
}

asio::awaitable<void> handle_ollama_embeddings(Service& service, Exchange& exchange) {
  co_await answer_by_vectors(service, exchange, read_old_embeddings, meant_name);
}

json::object ollama_embed_schema() {
  return ObjectSchema().add<Request>(kCommonFields).add<Request>(kEmbedFields).take();
}

json::object ollama_embeddings_schema() {
  return ObjectSchema().add<Request>(kCommonFields).add<Request>(kOldFields).take();
}

}  // namespace kvasir::api
