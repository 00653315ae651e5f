#pragma once

#include <filesystem>

#include "base/result.h"
#include "ops/cpu/compute_pool.h"

namespace kvasir::verify {

// How a checkpoint's decoder compares with a reference's float32 arithmetic.
struct ModelCheck {
  double logit_error = 0;    // the largest error, relative to the spread of the logits
  double logprob_error = 0;  // the largest error of a greedy token's logprob
  int num_greedy = 0;        // greedy tokens of the reference
  int num_equal = 0;         // of these, tokens that the decoder chooses, too
  int num_missed = 0;        // other tokens where the reference's margin is too large for a difference
  int first_missed = -1;

  static constexpr double kMaxLogitError = 2e-3;
  static constexpr double kMinMargin = 1e-3;
  bool passed() const { return logit_error <= kMaxLogitError && num_missed == 0; }
};

// `directory` holds a checkpoint and expected.json: `input_ids`, `logits_last8`, and `greedy` tokens with
// their logprob and margin. Runs in exact float32.
base::Result<ModelCheck> check_model(const std::filesystem::path& directory, ops::ComputePool& pool);
// As above, with the checkpoint and the file of expected results given separately.
base::Result<ModelCheck> check_model(const std::filesystem::path& checkpoint,
                                     const std::filesystem::path& expected, ops::ComputePool& pool);
// As above, with the decoder on the first GPU.
base::Result<ModelCheck> check_model_on_cuda(const std::filesystem::path& directory, ops::ComputePool& pool);

}  // namespace kvasir::verify
