#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "model/arch/model_config.h"
#include "model/decoder/decoder_weights.h"
#include "model/decoder/device_decoder.h"
#include "ops/cpu/compute_pool.h"
#include "ops/cuda/device.h"
#include "ops/cuda/rows.h"
#include "tensor/dtype.h"

namespace kvasir::model {

// [out, in] on the device.
struct DeviceLinear {
  const void* w = nullptr;
  const void* bias = nullptr;     // [out], or null
  const float* scales = nullptr;  // [out]: w is e4m3; null: it is not
  const void* groups = nullptr;   // w has four bits (ops/cuda/int4.h); null: it has not
  bool is_fresh = false;          // w was just unpacked
  std::int64_t out = 0;
  std::int64_t in = 0;
};

struct DeviceMlp {
  DeviceLinear up;  // where the config has a gate: gate, then up
  DeviceLinear down;
};

struct DeviceLayer {
  ops::cuda::NormWeights attention_norm, attention_post_norm, q_norm, k_norm;
  DeviceLinear qkv;  // queries, keys, values; of latent attention the queries alone
  DeviceLinear out;
  // Latent attention.
  DeviceLinear q_down, kv_down;
  ops::cuda::NormWeights q_down_norm, kv_down_norm;
  const void* k_up = nullptr;  // [heads, kv_rank, nope]
  const void* v_up = nullptr;  // [heads, value, kv_rank]

  ops::cuda::NormWeights mlp_norm, mlp_post_norm;
  DeviceMlp mlp;
  DeviceLinear router;
  std::vector<float> selection_bias;  // on the host
  std::vector<DeviceMlp> experts;
  // The same as the device reads them; null where the host chooses experts.
  const void* const* expert_ups = nullptr;    // [experts]
  const void* const* expert_downs = nullptr;  // [experts]
  const float* device_selection_bias = nullptr;
};

// A decoder's weights in the device's memory, matrices as the options tell, norms as f32.
struct DeviceWeights {
  const void* embedding = nullptr;  // [vocab, hidden]
  const void* positions = nullptr;  // [context, hidden], or null
  std::vector<DeviceLayer> layers;
  ops::cuda::NormWeights output_norm;
  DeviceLinear output;
  std::vector<ops::cuda::DeviceBuffer> buffers;
};

// Whether the device can choose experts.
bool routes_on_device(const ModelConfig& config, const DeviceOptions& options);

// `weights` borrow: they were loaded with Precision::exact.
base::Result<DeviceWeights> upload_weights(const DecoderWeights& weights, const ModelConfig& config,
                                           const DeviceOptions& options, ops::ComputePool& pool);
// Of a decoder with plain attention, which may have biases of queries, keys and values.
base::Result<DeviceWeights> random_weights(const ModelConfig& config, const DeviceOptions& options);

}  // namespace kvasir::model
