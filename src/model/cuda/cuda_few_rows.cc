#include <algorithm>

#include "model/cuda/cuda_state.h"
#include "ops/cuda/gemv.h"

// The products of steps of a few rows, with what stands around them in a layer of the common kind.
namespace kvasir::model {

using ops::cuda::GemvArgs;

bool CudaDecoder::has_fused_rows() const {
  const auto is_plain = [](const DeviceLayer& layer) {
    const bool biased = layer.qkv.bias != nullptr || layer.out.bias != nullptr ||
                        layer.mlp.up.bias != nullptr || layer.mlp.down.bias != nullptr;
    return !biased && layer.experts.empty() && layer.attention_norm.weight != nullptr &&
           layer.mlp_norm.weight != nullptr && layer.attention_norm.bias == nullptr &&
           layer.mlp_norm.bias == nullptr && layer.attention_post_norm.weight == nullptr &&
           layer.mlp_post_norm.weight == nullptr;
  };
  const bool fits = ops::cuda::gemv_takes(config_.hidden_size) && ops::cuda::gemv_takes(config_.q_size()) &&
                    ops::cuda::gemv_takes(config_.intermediate_size);
  return can_record_ && config_.gated_mlp && fits &&
         std::all_of(weights_.layers.begin(), weights_.layers.end(), is_plain);
}

bool CudaDecoder::few_rows() const {
  // The library is slow at few rows in fp8, and faster at two in bf16.
  const int most = options_.fp8_weights ? ops::cuda::kMaxGemvRows : 1;
  return fuses_rows_ && rows() <= std::min(options_.max_fused_rows, most);
}

void CudaDecoder::multiply_few(const DeviceLinear& linear, const void* x, const ops::cuda::NormWeights& norm,
                               GemvArgs::Then then, void* y) {
  ops::cuda::gemv(stream(), {.then = then,
                             .rows = rows(),
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

}  // namespace kvasir::model
