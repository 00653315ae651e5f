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
  int num_agreed = 0;          // tokens where both find the same token most likely
  double mean_divergence = 0;  // KL(float32 || fast), in nats
  double largest_divergence = 0;

  static constexpr double kMaxDivergence = 2e-3;
  static constexpr double kMinAgreement = 0.985;

  double agreement() const { return num_tokens == 0 ? 0 : static_cast<double>(num_agreed) / num_tokens; }
  // Returns a line for each figure that misses its bound. There are none if the model passed.
  std::vector<std::string> failures() const;
};

// Both models are the same checkpoint. `exact` is loaded with Precision::exact, and its KV is kept in
// float32; `kv_type` is the type of the KV of `fast`. Of each text, as many tokens are read as the model's
// context holds, but at most 4096.
base::Result<DriftCheck> check_drift(std::span<const std::string> texts, model::LoadedModel& exact,
                                     model::LoadedModel& fast, ops::KvType kv_type);

}  // namespace kvasir::verify
