#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/loaded_model.h"
#include "ops/types/kv_layer.h"

namespace kvasir::verify {

// How far the fast kernels' next-token distributions are from those of float32 on the same, dequantised
// weights, over real text.
struct DriftCheck {
  int num_tokens = 0;
  int num_agreed = 0;          // where both find the same token most likely
  double mean_divergence = 0;  // KL(float32 || fast), in nats
  double largest_divergence = 0;

  static constexpr double kMaxDivergence = 2e-3;
  static constexpr double kMinAgreement = 0.985;

  double agreement() const { return num_tokens == 0 ? 0 : static_cast<double>(num_agreed) / num_tokens; }
  // What is over its bound, a line each; none when the model passed.
  std::vector<std::string> failures() const;
};

// Both are the same checkpoint: `exact` of Precision::exact, which also keeps its KV in float32. Of each
// text at most as many tokens as the model's context holds are read, and at most 4096. `kv_type` is of
// `fast`.
base::Result<DriftCheck> check_drift(std::span<const std::string> texts, model::LoadedModel& exact,
                                     model::LoadedModel& fast, ops::KvType kv_type);

}  // namespace kvasir::verify
