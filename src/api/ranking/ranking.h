#pragma once

#include <optional>
#include <string_view>

#include "api/answer/answer_by_vectors.h"

namespace kvasir::api {

inline constexpr std::size_t kMaxRankedTexts = 2048;  // per request

// How many tokens of a text are read. By default a text that is too long is an error.
struct TextCut {
  std::optional<int> max_tokens;  // -1: as many as the model takes

  std::optional<int> for_model(const router::EmbedText& model) const {
    return max_tokens == -1 ? model.context_length : max_tokens;
  }
};

// Reads vLLM's `truncate_prompt_tokens`.
base::Status read_cut(const json::value& value, TextCut& cut);
inline constexpr std::string_view kCutSchema =
    R"({"type": "integer", "anyOf": [{"const": -1}, {"minimum": 1, "maximum": 2147483647}],
        "description": "Only so many tokens of each text are read; -1: as many as the model takes."})";

// A text that is not empty.
base::Result<std::string> read_text(const json::value& value);

// The cosine of the angle between vectors number `a` and `b` of the job.
class Similarities {
 public:
  // vectors [sequences, dimensions]
  Similarities(const std::vector<float>& vectors, int dimensions)
      : vectors_(vectors), dimensions_(static_cast<std::size_t>(dimensions)) {}
  double between(std::size_t a, std::size_t b) const;

 private:
  const std::vector<float>& vectors_;
  const std::size_t dimensions_;
};

}  // namespace kvasir::api
