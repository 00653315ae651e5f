#pragma once

#include <string_view>

#include "api/answer/vectors/answer_by_vectors.h"

namespace kvasir::api {

inline constexpr std::size_t kMaxRankedTexts = 2048;  // in one request

// Reads a text that must not be empty.
base::Result<std::string> read_text(const json::value& value);

// The cosine of the angle between two vectors of a job, given by their numbers. Refers to `vectors`.
class Similarities {
 public:
  // `vectors` is [sequences, dimensions].
  Similarities(const std::vector<float>& vectors, int dimensions)
      : vectors_(vectors), dimensions_(static_cast<std::size_t>(dimensions)) {}
  double between(std::size_t a, std::size_t b) const;

 private:
  const std::vector<float>& vectors_;
  const std::size_t dimensions_;
};

}  // namespace kvasir::api
