#include <algorithm>
#include <utility>

#include "model/cuda/cuda_state.h"
#include "ops/cuda/lone_row.h"

// Runs a step of one row through all layers of a dense decoder in one kernel.
namespace kvasir::model {

using ops::cuda::DeviceBuffer;
using ops::cuda::LoneLayer;

namespace {

ops::cuda::LoneRope lone_rope(const std::optional<DeviceRope>& rope) {
  if (!rope) return {};
  return {rope->table.as<const float>(), rope->num_pairs, rope->style};
}

}  // namespace

bool CudaDecoder::is_lone_row() const {
  const ops::cuda::StepView& step = upload_.view();
  return scratch_.lone_layers.data() != nullptr && step.rows == 1 && upload_.num_logit_rows() == 1 &&
         step.num_split_items > 0;
}

// Called after the KV is allocated, because its addresses do not change from then on.
base::Status CudaDecoder::prepare_lone_row() {
  const auto is_dense = [](const DeviceLayer& layer) {
    return is_common(layer) && layer.experts.empty() && layer.q_norm.bias == nullptr &&
           layer.k_norm.bias == nullptr;
  };
  const bool is_known = can_record_ && options_.max_own_rows > 0 && options_.weights != WeightNumbers::int4 &&
                        config_.gated_mlp && config_.qk_norm != QkNorm::whole &&
                        std::ranges::all_of(weights_.layers, is_dense) && weights_.output.scales == nullptr &&
                        weights_.output_norm.weight != nullptr && weights_.output_norm.bias == nullptr;
  if (!is_known || !ops::cuda::lone_row_takes(lone_row_args())) return base::ok();
  std::vector<LoneLayer> layers;
  for (std::size_t i = 0; i < weights_.layers.size(); ++i) {
    const DeviceLayer& from = weights_.layers[i];
    const DeviceRope* rope = rope_of(config_.layers[i]);
    const DeviceLinear* linears[] = {&from.qkv, &from.out, &from.mlp.up, &from.mlp.down};
    LoneLayer layer{.qkv_bias = from.qkv.bias,
                    .attention_norm = from.attention_norm.weight,
                    .mlp_norm = from.mlp_norm.weight,
                    .q_norm = from.q_norm.weight,
                    .k_norm = from.k_norm.weight,
                    .k = kv_[i].k,
                    .v = kv_[i].v,
                    .sliding_window = config_.layers[i].sliding_window};
    for (int product = 0; product < ops::cuda::kLoneLayerProducts; ++product) {
      layer.w[product] = linears[product]->w;
      layer.scales[product] = linears[product]->scales;
    }
    if (rope != nullptr) layer.rope = config_.layers[i].rope == RopeUse::local ? 1 : 0;
    layers.push_back(layer);
  }
  base::Result<DeviceBuffer> exchange =
      DeviceBuffer::allocate(ops::cuda::lone_exchange_bytes(lone_row_args()));
  base::Result<DeviceBuffer> described = DeviceBuffer::allocate(layers.size() * sizeof(LoneLayer));
  if (!exchange.ok() || !described.ok()) return base::ok();  // the kernel is only an optimisation
  scratch_.lone_exchange = std::move(*exchange);
  scratch_.lone_layers = std::move(*described);
  ops::cuda::fill_zero(stream(), scratch_.lone_exchange.data(), scratch_.lone_exchange.size());
  ops::cuda::copy_to_device(stream(), scratch_.lone_layers.data(), layers.data(),
                            layers.size() * sizeof(LoneLayer));
  stream_.wait();
  return base::ok();
}

std::int64_t CudaDecoder::num_lone_row_steps() {
  if (scratch_.lone_exchange.data() == nullptr) return 0;
  return ops::cuda::count_lone_steps(stream(), lone_row_args());
}

ops::cuda::LoneRowArgs CudaDecoder::lone_row_args() const {
  const ops::cuda::StepView& step = upload_.view();
  return {.quantized = options_.weights == WeightNumbers::fp8,
          .kv = kv_numbers(),
          .num_layers = config_.num_layers,
          .hidden = config_.hidden_size,
          .inner = config_.intermediate_size,
          .num_heads = config_.num_heads,
          .num_kv_heads = config_.num_kv_heads,
          .head_dim = config_.head_dim,
          .vocab = config_.vocab_size,
          .eps = config_.norm_eps,
          .residual_scale = config_.residual_scale,
          .attention_scale = attention_scale(),
          .softcap = config_.attention_softcap,
          .activation = config_.activation,
          .layers = scratch_.lone_layers.as<const LoneLayer>(),
          .output_norm = weights_.output_norm.weight,
          .output = weights_.output.w,
          .positions = step.positions,
          .blocks = step.split_blocks,
          .ropes = {lone_rope(rope_), lone_rope(local_rope_)},
          .embedding = scratch_.hidden.data(),
          .exchange = scratch_.lone_exchange.data(),
          .logits = scratch_.logits.as<float>()};
}

}  // namespace kvasir::model
