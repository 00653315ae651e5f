#include <string>
#include <utility>
#include <vector>

#include "api/answer/vectors/answer_by_vectors.h"
#include "api/openai/embedding_request.h"
#include "api/openai/endpoints.h"

namespace kvasir::api {

using base::Result;

namespace {

// `dimensions` is the number of dimensions that the answer's vectors have.
json::object answer_object(const EmbedJob& job, std::vector<float> vectors, int dimensions,
                           EmbeddingRequest::Encoding encoding) {
  const int most = job.model->dimensions;
  if (dimensions < most) vectors = shorter_vectors(vectors, most, dimensions);
  return {{"object", "list"},
          {"data", embedding_data(vectors, dimensions, encoding)},
          {"model", job.model->name},
          {"usage", json::object{{"prompt_tokens", job.num_tokens}, {"total_tokens", job.num_tokens}}}};
}

Result<EmbedQuestion> read_embeddings(json::object body, const EmbedReading& reading) {
  TRY(EmbeddingRequest request, read_embedding_request(std::move(body)));
  TRY(EmbedJob job, reading.job_for(request.model));
  const int most = job.model->dimensions;
  const int dimensions = request.dimensions.value_or(most);
  if (dimensions > most)
    return in_field("dimensions", wrong_value(fmt::format("the model's vectors have {} numbers", most)));
  const bool several = request.inputs.size() > 1;
  for (std::size_t i = 0; i < request.inputs.size(); ++i)
    TRY_OK(reading.add(job, request.inputs[i], several ? fmt::format("input[{}]", i) : "input",
                       request.cut.for_model(*job.model)));
  return EmbedQuestion(
      std::move(job), std::move(request.warnings),
      [dimensions, encoding = request.encoding](const EmbedJob& done, std::vector<float> vectors) {
        return answer_object(done, std::move(vectors), dimensions, encoding);
      });
}

}  // namespace

boost::asio::awaitable<void> handle_embeddings(Service& service, Exchange& exchange) {
  co_await answer_by_vectors(service, exchange, read_embeddings);
}

}  // namespace kvasir::api
