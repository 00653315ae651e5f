#pragma once

#include <vector>

#include "base/result.h"
#include "ops/rope.h"

namespace kvasir::model {

enum class RopeScaling { none, linear, llama3, yarn };

// How positions become angles, as a checkpoint states it.
struct RopeConfig {
  ops::RopeStyle style = ops::RopeStyle::neox;
  int dim = 0;  // the first `dim` numbers of a head are rotated
  double theta = 10000;
  RopeScaling scaling = RopeScaling::none;
  double factor = 1;
  double original_context = 0;  // llama3, yarn
  double low_freq_factor = 1;   // llama3
  double high_freq_factor = 4;  // llama3
  double beta_fast = 32;        // yarn
  double beta_slow = 1;         // yarn
  double attention_factor = 0;  // 0: computed from `factor` for yarn, 1 for the others
  double mscale = 0;            // yarn; 0: not stated
  double mscale_all_dim = 0;
  bool truncate = true;              // yarn: the ramp begins and ends at whole pairs
  std::vector<float> freq_divisors;  // [dim / 2] or empty: a checkpoint's own table, applied after the rest
};

// The rotation of pair i at position p is the angle p * inverse_frequencies[i]; its sine and cosine are
// multiplied by `attention_factor`.
struct RopeFrequencies {
  std::vector<float> inverse_frequencies;  // [dim / 2]
  float attention_factor = 1;
};

base::Status validate(const RopeConfig& rope);
// `rope` must be valid.
RopeFrequencies frequencies(const RopeConfig& rope);

}  // namespace kvasir::model
