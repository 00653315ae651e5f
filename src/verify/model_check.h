#pragma once

#include <filesystem>

#include "base/result.h"
#include "ops/cpu/compute_pool.h"

namespace kvasir::verify {

// How a checkpoint's decoder compares with a reference's float32 arithmetic.
struct ModelCheck {
  double logit_error = 0;    // the largest, relative to the logits' spread
  double logprob_error = 0;  // the largest, of the greedy tokens
  int num_greedy = 0;        // greedy tokens of the reference
  int num_equal = 0;         // of these, those that are the decoder's too
  int num_missed = 0;        // of the others, those where the reference's margin allows no difference
  int first_missed = -1;

  static constexpr double kMaxLogitError = 2e-3;
  static constexpr double kMinMargin = 1e-3;
  bool passed() const { return logit_error <= kMaxLogitError && num_missed == 0; }
};

// `directory` holds a checkpoint and expected.json: `input_ids`, `logits_last8`, and `greedy` tokens with
// their logprob and margin. Runs in exact float32.
base::Result<ModelCheck> check_model(const std::filesystem::path& directory, ops::ComputePool& pool);
// The same for a checkpoint that lies elsewhere.
base::Result<ModelCheck> check_model(const std::filesystem::path& checkpoint,
                                     const std::filesystem::path& expected, ops::ComputePool& pool);
// The same on the first GPU.
base::Result<ModelCheck> check_model_on_cuda(const std::filesystem::path& directory, ops::ComputePool& pool);

}  // namespace kvasir::verify
