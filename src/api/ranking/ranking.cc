#include "api/ranking/ranking.h"

#include <algorithm>
#include <cmath>

namespace kvasir::api {

base::Result<std::string> read_text(const json::value& value) {
  TRY(std::string text, read_string(value));
  if (text.empty()) return wrong_value("expected a string that is not empty");
  return text;
}

double Similarities::between(std::size_t a, std::size_t b) const {
  const float* const first = &vectors_[a * dimensions_];
  const float* const second = &vectors_[b * dimensions_];
  double dot = 0;
  double first_squares = 0;
  double second_squares = 0;
  for (std::size_t d = 0; d < dimensions_; ++d) {
    dot += static_cast<double>(first[d]) * second[d];
    first_squares += static_cast<double>(first[d]) * first[d];
    second_squares += static_cast<double>(second[d]) * second[d];
  }
  const double lengths = std::sqrt(first_squares) * std::sqrt(second_squares);
  return lengths > 0 ? std::clamp(dot / lengths, -1.0, 1.0) : 0;
}

}  // namespace kvasir::api
