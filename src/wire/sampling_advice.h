#pragma once

#include <optional>

namespace kvasir::wire {

// The sampling parameters that a model's makers recommend. Absent: they recommend none.
struct SamplingAdvice {
  std::optional<float> temperature;
  std::optional<float> top_p;
  std::optional<int> top_k;
  std::optional<float> min_p;
  std::optional<float> repetition_penalty;
  bool operator==(const SamplingAdvice&) const = default;

  // Sets the fields that are absent here from `other`.
  void complete(const SamplingAdvice& other) {
    if (!temperature) temperature = other.temperature;
    if (!top_p) top_p = other.top_p;
    if (!top_k) top_k = other.top_k;
    if (!min_p) min_p = other.min_p;
    if (!repetition_penalty) repetition_penalty = other.repetition_penalty;
  }
};

}  // namespace kvasir::wire
