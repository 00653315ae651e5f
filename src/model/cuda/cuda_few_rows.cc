#include <algorithm>

#include "model/cuda/cuda_state.h"
#include "ops/cuda/gemv.h"
#include "ops/cuda/int4.h"
#include "ops/cuda/mixture_few.h"
#include "ops/cuda/skinny.h"

// Computes the products of steps with few rows. In common layers they are fused with the norms, gates and
// sums around them.
namespace kvasir::model {

using ops::cuda::GemvArgs;

bool CudaDecoder::is_common(const DeviceLayer& layer) {
  const bool biased = layer.out.bias != nullptr || layer.mlp.up.bias != nullptr ||
                      layer.mlp.down.bias != nullptr || layer.router.bias != nullptr;
  return !biased && layer.attention_norm.weight != nullptr && layer.mlp_norm.weight != nullptr &&
         layer.attention_norm.bias == nullptr && layer.mlp_norm.bias == nullptr &&
         layer.attention_post_norm.weight == nullptr && layer.mlp_post_norm.weight == nullptr;
}

bool CudaDecoder::has_fused_rows() const {
  const MixtureConfig& m = config_.mixture;
  const auto has_few_experts = [&](const DeviceLayer& layer) {
    return layer.expert_ups != nullptr && m.shared_intermediate_size == 0 &&
           ops::cuda::few_experts_take(m.num_used, config_.hidden_size, m.intermediate_size);
  };
  const auto is_plain = [&](const DeviceLayer& layer) {
    return is_common(layer) && layer.qkv.bias == nullptr && (layer.experts.empty() || has_few_experts(layer));
  };
  const bool fits = ops::cuda::gemv_takes(config_.hidden_size) && ops::cuda::gemv_takes(config_.q_size()) &&
                    ops::cuda::gemv_takes(config_.intermediate_size);
  return can_record_ && options_.weights != WeightNumbers::int4 && config_.gated_mlp && fits &&
         std::all_of(weights_.layers.begin(), weights_.layers.end(), is_plain);
}

bool CudaDecoder::few_rows() const {
  return fuses_rows_ && rows() == 1 && options_.max_own_rows > 0;
}

void CudaDecoder::multiply_few(const DeviceLinear& linear, const void* x, const ops::cuda::NormWeights& norm,
                               GemvArgs::Then then, void* y) {
  ops::cuda::gemv(stream(), {.then = then,
                             .cols = static_cast<int>(linear.in),
                             .out = static_cast<int>(linear.out),
                             .x = x,
                             .rms_weight = norm.weight,
                             .eps = config_.norm_eps,
                             .w = linear.w,
                             .w_scales = linear.scales,
                             .y = y,
                             .scale = then == GemvArgs::Then::add ? config_.residual_scale : 1,
                             .activation = config_.activation});
}

void CudaDecoder::run_few_experts(const DeviceLayer& w) {
  const MixtureConfig& m = config_.mixture;
  multiply_few(w.router, scratch_.hidden.data(), w.mlp_norm, GemvArgs::Then::store_f32,
               scratch_.router.data());
  route(w);
  ops::cuda::run_few_experts(stream(), {.activation = config_.activation,
                                        .rows = rows(),
                                        .num_used = m.num_used,
                                        .hidden = config_.hidden_size,
                                        .inner = m.intermediate_size,
                                        .experts = scratch_.row_experts.as<const std::int32_t>(),
                                        .weights = scratch_.row_weights.as<const float>(),
                                        .x = scratch_.hidden.data(),
                                        .rms_weight = w.mlp_norm.weight,
                                        .eps = config_.norm_eps,
                                        .ups = w.expert_ups,
                                        .downs = w.expert_downs,
                                        .between = scratch_.slot_inner.data(),
                                        .y = scratch_.hidden.data(),
                                        .scale = config_.residual_scale});
}

bool CudaDecoder::quantizes() const {
  return options_.weights == WeightNumbers::fp8 && !few_rows();
}

bool CudaDecoder::is_skinny(const DeviceLinear& linear, int num_rows) const {
  return !options_.batch_invariant && linear.groups != nullptr && linear.out % 4 == 0 &&
         num_rows <= std::min(options_.max_own_rows, ops::cuda::kMaxSkinnyRows) &&
         ops::cuda::skinny_takes(linear.in);
}

void CudaDecoder::multiply_skinny(const DeviceLinear& linear, const void* x, int num_rows,
                                  GemvArgs::Then then, void* y) {
  ops::cuda::skinny(stream(), {.then = then,
                               .rows = num_rows,
                               .cols = static_cast<int>(linear.in),
                               .out = static_cast<int>(linear.out),
                               .x = x,
                               .w = linear.w,
                               .groups = linear.groups,
                               .bias = linear.bias,
                               .y = y,
                               .scale = config_.residual_scale,
                               .activation = config_.activation});
}

DeviceLinear CudaDecoder::unpack(const DeviceLinear& linear) {
  if (linear.groups == nullptr) return linear;
  ops::cuda::unpack_int4(stream(), {.count = linear.out * linear.in,
                                    .nibbles = linear.w,
                                    .groups = linear.groups,
                                    .y = scratch_.unpacked.data()});
  DeviceLinear plain = linear;
  plain.w = scratch_.unpacked.data();
  plain.groups = nullptr;
  plain.is_fresh = true;
  return plain;
}

}  // namespace kvasir::model
