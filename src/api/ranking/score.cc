#include <chrono>
#include <memory>
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

// A checked request for the similarity of pairs of texts, as vLLM defines it.
struct ScoreRequest {
  std::string model;
  std::vector<std::string> first;  // one text, or as many as `second` has
  std::vector<std::string> second;
  TextCut cut;
};

Status read_texts(const json::value& value, std::vector<std::string>& texts) {
  if (value.is_string()) {
    TRY(texts.emplace_back(), read_text(value));
    return base::ok();
  }
  if (!value.is_array()) return wrong_type("a string or an array of strings", value);
  const json::array& array = value.get_array();
  if (array.empty()) return wrong_value("expected at least one text");
  if (array.size() > kMaxRankedTexts)
    return Error{ErrorCode::invalid_argument,
                 fmt::format("expected at most {} texts, got {}", kMaxRankedTexts, array.size()),
                 {},
                 "array_above_max_length"};
  for (std::size_t i = 0; i < array.size(); ++i) {
    auto text = read_text(array[i]);
    if (!text.ok()) return in_field(fmt::format("[{}]", i), std::move(text).error());
    texts.push_back(std::move(*text));
  }
  return base::ok();
}

constexpr std::string_view kTextsSchema =
    R"({"anyOf": [{"type": "string", "minLength": 1},
         {"type": "array", "minItems": 1, "maxItems": 2048, "items": {"type": "string", "minLength": 1}}],
        "description": "`text_1` has one text, or as many as `text_2`."})";

constexpr Field<ScoreRequest> kScoreFields[] = {
    {"model",
     [](const json::value& v, ScoreRequest& r) -> Status {
       TRY(r.model, read_string(v));
       return base::ok();
     },
     kModelSchema, kModelExpected},
    {"text_1", [](const json::value& v, ScoreRequest& r) { return read_texts(v, r.first); }, kTextsSchema,
     "a string or an array of strings"},
    {"text_2", [](const json::value& v, ScoreRequest& r) { return read_texts(v, r.second); }, kTextsSchema,
     "a string or an array of strings"},
    {"truncate_prompt_tokens", [](const json::value& v, ScoreRequest& r) { return read_cut(v, r.cut); },
     kCutSchema},
};

json::object answer_object(const EmbedJob& job, const std::vector<float>& vectors, std::size_t num_first) {
  const Similarities similarities(vectors, job.model->dimensions);
  const std::size_t num_second = vectors.size() / static_cast<std::size_t>(job.model->dimensions) - num_first;
  json::array data;
  for (std::size_t i = 0; i < num_second; ++i)
    data.push_back({{"index", i},
                    {"object", "score"},
                    {"score", similarities.between(num_first == 1 ? 0 : i, num_first + i)}});
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {{"id", make_id("score")},
          {"object", "list"},
          {"created", std::chrono::duration_cast<std::chrono::seconds>(now).count()},
          {"model", job.model->name},
          {"data", std::move(data)},
          {"usage", json::object{{"prompt_tokens", job.num_tokens}, {"total_tokens", job.num_tokens}}}};
}

Result<EmbedQuestion> read_score(json::object body, const EmbedReading& reading) {
  ScoreRequest request;
  std::vector<std::string> warnings;
  static const ObjectSchema known = ObjectSchema().add<ScoreRequest>(kScoreFields);
  known.warn_of_others(body, warnings);
  TRY_OK(read_fields<ScoreRequest>(body, kScoreFields, request));
  const std::size_t num_first = request.first.size();
  if (num_first != 1 && num_first != request.second.size())
    return in_field("text_1", wrong_value(fmt::format("expected one text, or {} as in \"text_2\"; got {}",
                                                      request.second.size(), num_first)));
  TRY(EmbedJob job, reading.job_for(request.model));
  const std::optional<int> cut = request.cut.for_model(*job.model);
  const auto add_all = [&](std::vector<std::string>& texts, std::string_view field) -> Status {
    for (std::size_t i = 0; i < texts.size(); ++i)
      TRY_OK(reading.add(job, std::move(texts[i]),
                         texts.size() > 1 ? fmt::format("{}[{}]", field, i) : std::string(field), cut));
    return base::ok();
  };
  TRY_OK(add_all(request.first, "text_1"));
  TRY_OK(add_all(request.second, "text_2"));
  return EmbedQuestion(std::move(job), std::move(warnings),
                       [num_first](const EmbedJob& done, const std::vector<float>& vectors) {
                         return answer_object(done, vectors, num_first);
                       });
}

}  // namespace

json::object score_request_schema() {
  return ObjectSchema().add<ScoreRequest>(kScoreFields).take();
}

boost::asio::awaitable<void> handle_score(Service& service, Exchange& exchange) {
  co_await answer_by_vectors(service, exchange, read_score);
}

}  // namespace kvasir::api
