#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/answer/question/completion_request.h"
#include "api/answer/vectors/answer_by_vectors.h"
#include "api/http/json/fields.h"

namespace kvasir::api {

// A checked POST /v1/embeddings.
struct EmbeddingRequest {
  enum class Encoding : std::uint8_t { numbers, base64 };

  std::string model;
  std::vector<TextOrTokens> inputs;  // never empty; token ids are used as they are
  Encoding encoding = Encoding::numbers;
  std::optional<int> dimensions;  // absent: all dimensions of the model
  TextCut cut;
  std::vector<std::string> warnings;
};

base::Result<EmbeddingRequest> read_embedding_request(json::object body);
json::object embedding_request_schema();

// Makes the answer's `data` for `vectors` [inputs, dimensions].
json::array embedding_data(const std::vector<float>& vectors, int dimensions,
                           EmbeddingRequest::Encoding encoding);

}  // namespace kvasir::api
