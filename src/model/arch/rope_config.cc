#include "model/arch/rope_config.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace kvasir::model {

using base::ErrorCode;

namespace {

double yarn_mscale(double factor, double mscale) {
  return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

double yarn_attention_factor(const RopeConfig& rope) {
  if (rope.attention_factor > 0) return rope.attention_factor;
  if (rope.mscale > 0 && rope.mscale_all_dim > 0)
    return yarn_mscale(rope.factor, rope.mscale) / yarn_mscale(rope.factor, rope.mscale_all_dim);
  return yarn_mscale(rope.factor, 1.0);
}

// Returns the (fractional) index of the pair that turns `rotations` times over the original context.
double yarn_pair(const RopeConfig& rope, double rotations) {
  return rope.dim * std::log(rope.original_context / (rotations * 2 * std::numbers::pi)) /
         (2 * std::log(rope.theta));
}

// Fast pairs keep their frequency, slow pairs are interpolated, and a linear ramp connects the two.
void scale_yarn(const RopeConfig& rope, std::vector<double>& inverse) {
  double low = yarn_pair(rope, rope.beta_fast);
  double high = yarn_pair(rope, rope.beta_slow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, rope.dim - 1.0);
  if (low == high) high += 0.001;
  for (std::size_t i = 0; i < inverse.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    inverse[i] = inverse[i] / rope.factor * ramp + inverse[i] * (1 - ramp);
  }
}

// Short wavelengths stay, long ones are interpolated, and a smooth blend connects the two.
void scale_llama3(const RopeConfig& rope, std::vector<double>& inverse) {
  const double low_wavelength = rope.original_context / rope.low_freq_factor;
  const double high_wavelength = rope.original_context / rope.high_freq_factor;
  for (double& frequency : inverse) {
    const double wavelength = 2 * std::numbers::pi / frequency;
    if (wavelength < high_wavelength) continue;
    if (wavelength > low_wavelength) {
      frequency /= rope.factor;
      continue;
    }
    const double smooth = (rope.original_context / wavelength - rope.low_freq_factor) /
                          (rope.high_freq_factor - rope.low_freq_factor);
    frequency = (1 - smooth) * frequency / rope.factor + smooth * frequency;
  }
}

bool positive(double value) {
  return std::isfinite(value) && value > 0;
}

}  // namespace

base::Status validate(const RopeConfig& rope) {
  const auto bad = [](std::string_view what) { return base::error(ErrorCode::corrupt, "rope: {}", what); };
  if (rope.dim < 2 || rope.dim % 2 != 0) return bad("the rotated dimension is not a positive even number");
  if (!positive(rope.theta) || rope.theta <= 1) return bad("theta must be above 1");
  if (rope.scaling != RopeScaling::none && !positive(rope.factor)) return bad("factor must be above 0");
  const bool needs_context = rope.scaling == RopeScaling::llama3 || rope.scaling == RopeScaling::yarn;
  if (needs_context && !positive(rope.original_context))
    return bad("the scaling needs the original context length");
  if (rope.scaling == RopeScaling::llama3 &&
      (!positive(rope.low_freq_factor) || !positive(rope.high_freq_factor) ||
       rope.low_freq_factor >= rope.high_freq_factor))
    return bad("low_freq_factor must be above 0 and below high_freq_factor");
  if (rope.scaling == RopeScaling::yarn && (!positive(rope.beta_fast) || !positive(rope.beta_slow)))
    return bad("beta_fast and beta_slow must be above 0");
  if (!rope.freq_divisors.empty()) {
    if (rope.freq_divisors.size() != static_cast<std::size_t>(rope.dim) / 2)
      return bad("the table of frequencies has another length than half the rotated dimension");
    if (!std::all_of(rope.freq_divisors.begin(), rope.freq_divisors.end(), positive))
      return bad("a frequency divisor is not above 0");
  }
  return base::ok();
}

RopeFrequencies frequencies(const RopeConfig& rope) {
  std::vector<double> inverse(static_cast<std::size_t>(rope.dim) / 2);
  for (std::size_t i = 0; i < inverse.size(); ++i)
    inverse[i] = std::pow(rope.theta, -2.0 * static_cast<double>(i) / rope.dim);
  RopeFrequencies result;
  if (rope.attention_factor > 0) result.attention_factor = static_cast<float>(rope.attention_factor);
  switch (rope.scaling) {
    case RopeScaling::none:
      break;
    case RopeScaling::linear:
      for (double& frequency : inverse) frequency /= rope.factor;
      break;
    case RopeScaling::llama3:
      scale_llama3(rope, inverse);
      break;
    case RopeScaling::yarn:
      scale_yarn(rope, inverse);
      result.attention_factor = static_cast<float>(yarn_attention_factor(rope));
      break;
  }
  for (std::size_t i = 0; i < rope.freq_divisors.size(); ++i) inverse[i] /= rope.freq_divisors[i];
  result.inverse_frequencies.assign(inverse.begin(), inverse.end());
  return result;
}

}  // namespace kvasir::model
