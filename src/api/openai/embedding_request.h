#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/answer/completion_request.h"
#include "api/http/fields.h"

namespace kvasir::api {

inline constexpr std::size_t kMaxEmbeddingInputs = 2048;  // of one request; OpenAI's

// POST /v1/embeddings, checked.
struct EmbeddingRequest {
  enum class Encoding : std::uint8_t { numbers, base64 };

  std::string model;
  std::vector<TextOrTokens> inputs;  // never empty; tokens are taken as they are
  Encoding encoding = Encoding::numbers;
  std::optional<int> dimensions;  // absent: all that the model has
};

base::Result<EmbeddingRequest> read_embedding_request(json::object body);
json::object embedding_request_schema();

// [inputs, dimensions] as the answer's `data`.
json::array embedding_data(const std::vector<float>& vectors, int dimensions,
                           EmbeddingRequest::Encoding encoding);

}  // namespace kvasir::api
