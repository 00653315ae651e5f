#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "api/answer/question/generate_params.h"
#include "api/http/json/object_schema.h"
#include "api/http/service/request_id.h"
#include "api/ranking/endpoints.h"
#include "api/ranking/ranking.h"

namespace kvasir::api {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

// A checked request to rank documents, as Cohere, Jina and vLLM define it.
struct RerankRequest {
  std::string model;
  std::string query;
  std::vector<std::string> documents;
  std::size_t num_wanted = 0;  // 0: all documents
  bool returns_documents = false;
  TextCut cut;           // for the query and the documents
  TextCut document_cut;  // for the documents alone
};

Result<std::string> read_document(const json::value& value) {
  if (value.is_string()) return read_text(value);
  const json::object* object = value.if_object();
  const json::value* text = object == nullptr ? nullptr : object->if_contains("text");
  if (object == nullptr) return wrong_type("a string or an object with \"text\"", value);
  if (text == nullptr) return in_field("text", missing("a string"));
  auto read = read_text(*text);
  if (!read.ok()) return in_field("text", std::move(read).error());
  return read;
}

Status read_documents(const json::value& value, RerankRequest& request) {
  if (!value.is_array()) return wrong_type("an array of documents", value);
  const json::array& documents = value.get_array();
  if (documents.empty()) return wrong_value("expected at least one document");
  if (documents.size() > kMaxRankedTexts)
    return Error{ErrorCode::invalid_argument,
                 fmt::format("expected at most {} documents, got {}", kMaxRankedTexts, documents.size()),
                 {},
                 "array_above_max_length"};
  for (std::size_t i = 0; i < documents.size(); ++i) {
    auto document = read_document(documents[i]);
    if (!document.ok()) return in_field(fmt::format("[{}]", i), std::move(document).error());
    request.documents.push_back(std::move(*document));
  }
  return base::ok();
}

constexpr Field<RerankRequest> kRerankFields[] = {
    {"model",
     [](const json::value& v, RerankRequest& r) -> Status {
       TRY(r.model, read_string(v));
       return base::ok();
     },
     kModelSchema, kModelExpected},
    {"query",
     [](const json::value& v, RerankRequest& r) -> Status {
       TRY(r.query, read_text(v));
       return base::ok();
     },
     R"({"type": "string", "minLength": 1})", "a string"},
    {"documents", read_documents,
     R"({"type": "array", "minItems": 1, "maxItems": 2048, "items": {"anyOf": [
          {"type": "string", "minLength": 1},
          {"type": "object", "required": ["text"],
           "properties": {"text": {"type": "string", "minLength": 1}}}]}})",
     "an array of documents"},
    {"top_n",
     [](const json::value& v, RerankRequest& r) -> Status {
       TRY(const std::int64_t number, read_integer(v, {0, std::numeric_limits<int>::max()}));
       r.num_wanted = static_cast<std::size_t>(number);
       return base::ok();
     },
     R"({"type": "integer", "minimum": 0, "maximum": 2147483647, "default": 0,
         "description": "Only so many of the best documents; 0: all."})"},
    {"return_documents",
     [](const json::value& v, RerankRequest& r) -> Status {
       TRY(r.returns_documents, read_bool(v));
       return base::ok();
     },
     R"({"type": "boolean", "default": false})"},
    {"truncate_prompt_tokens", [](const json::value& v, RerankRequest& r) { return read_cut(v, r.cut); },
     kCutSchema},
    {"max_tokens_per_doc",  // Cohere's name
     [](const json::value& v, RerankRequest& r) -> Status {
       TRY(const std::int64_t number, read_integer(v, {1, std::numeric_limits<int>::max()}));
       r.document_cut.max_tokens = static_cast<int>(number);
       return base::ok();
     },
     R"({"type": "integer", "minimum": 1, "maximum": 2147483647,
         "description": "Only so many tokens of each document are read."})"},
    {"rank_fields",
     [](const json::value& v, RerankRequest&) -> Status {
       const bool text = v == json::array{"text"} || v == json::array{};
       return text ? base::ok() : Status(not_supported("a field other than \"text\" is"));
     }},
    {"max_chunks_per_doc",
     [](const json::value&, RerankRequest&) -> Status {
       return not_supported("cutting documents into pieces is");
     }},
};

// Returns the documents in the order of their scores; equal ones stay in the request's order.
std::vector<std::pair<std::size_t, double>> ranked(const std::vector<float>& vectors, int dimensions,
                                                   std::size_t num_documents) {
  const Similarities similarities(vectors, dimensions);
  std::vector<std::pair<std::size_t, double>> scores;
  scores.reserve(num_documents);
  for (std::size_t i = 0; i < num_documents; ++i) scores.emplace_back(i, similarities.between(0, i + 1));
  std::ranges::stable_sort(scores, std::ranges::greater(), [](const auto& score) { return score.second; });
  return scores;
}

json::object answer_object(const EmbedJob& job, const std::vector<float>& vectors,
                           const RerankRequest& request) {
  auto scores = ranked(vectors, job.model->dimensions, request.documents.size());
  if (request.num_wanted > 0) scores.resize(std::min(scores.size(), request.num_wanted));
  json::array results;
  for (const auto& [index, score] : scores) {
    json::object result{{"index", index}, {"relevance_score", score}};
    if (request.returns_documents) result["document"] = json::object{{"text", request.documents[index]}};
    results.push_back(std::move(result));
  }
  return {{"id", make_id("rerank")},
          {"object", "list"},
          {"model", job.model->name},
          {"results", std::move(results)},
          {"usage", json::object{{"prompt_tokens", job.num_tokens}, {"total_tokens", job.num_tokens}}},
          {"meta", json::object{{"tokens", json::object{{"input_tokens", job.num_tokens}}}}}};
}

Result<EmbedQuestion> read_rerank(json::object body, const EmbedReading& reading) {
  auto request = std::make_shared<RerankRequest>();
  std::vector<std::string> warnings;
  static const ObjectSchema known = ObjectSchema().add<RerankRequest>(kRerankFields);
  known.warn_of_others(body, warnings);
  TRY_OK(read_fields<RerankRequest>(body, kRerankFields, *request));
  TRY(EmbedJob job, reading.job_for(request->model));
  const std::optional<int> cut = request->cut.for_model(*job.model);
  const std::optional<int> document_cut =
      request->document_cut.max_tokens ? request->document_cut.max_tokens : cut;
  TRY_OK(reading.add(job, request->query, "query", cut));
  for (std::size_t i = 0; i < request->documents.size(); ++i)
    TRY_OK(reading.add(job, request->documents[i], fmt::format("documents[{}]", i), document_cut));
  return EmbedQuestion(std::move(job), std::move(warnings),
                       [request](const EmbedJob& done, const std::vector<float>& vectors) {
                         return answer_object(done, vectors, *request);
                       });
}

}  // namespace

json::object rerank_request_schema() {
  return ObjectSchema().add<RerankRequest>(kRerankFields).take();
}

boost::asio::awaitable<void> handle_rerank(Service& service, Exchange& exchange) {
  co_await answer_by_vectors(service, exchange, read_rerank);
}

}  // namespace kvasir::api
