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

// A matrix [out, in] on the device, and its bias.
struct DeviceLinear {
  const void* w = nullptr;
  const void* bias = nullptr;     // [out], or null
  const float* scales = nullptr;  // [out], if w is e4m3; otherwise null
  const void* groups = nullptr;   // if w has four bits (ops/cuda/int4.h); otherwise null
  bool is_fresh = false;          // the kernel launched before may still be writing w
  std::int64_t out = 0;
  std::int64_t in = 0;
};

struct DeviceMlp {
  DeviceLinear up;  // gate and then up, if the config has a gate
  DeviceLinear down;
};

struct DeviceLayer {
  ops::cuda::NormWeights attention_norm, attention_post_norm, q_norm, k_norm;
  DeviceLinear qkv;  // queries, keys, values; in latent attention only the queries
  DeviceLinear out;
  // For latent attention only.
  DeviceLinear q_down, kv_down;
  ops::cuda::NormWeights q_down_norm, kv_down_norm;
  const void* k_up = nullptr;  // [heads, kv_rank, nope]
  const void* v_up = nullptr;  // [heads, value, kv_rank]

  ops::cuda::NormWeights mlp_norm, mlp_post_norm;
  DeviceMlp mlp;
  DeviceLinear router;
  std::vector<float> selection_bias;  // on the host
  std::vector<DeviceMlp> experts;
  // The experts' matrices and biases as the device reads them. They are null if the host chooses the experts.
  const void* const* expert_ups = nullptr;    // [experts]
  const void* const* expert_downs = nullptr;  // [experts]
  const float* device_selection_bias = nullptr;
};

// A decoder's weights in device memory. Matrices have the type that the options name, norms are f32.
struct DeviceWeights {
  const void* embedding = nullptr;  // [vocab, hidden]
  const void* positions = nullptr;  // [context, hidden], or null
  std::vector<DeviceLayer> layers;
  ops::cuda::NormWeights output_norm;
  DeviceLinear output;
  std::vector<ops::cuda::DeviceBuffer> buffers;
};

// Whether the device can choose the experts. Otherwise the host does.
bool routes_on_device(const ModelConfig& config, const DeviceOptions& options);

// Copies the weights to the device. They must have been loaded with Precision::exact, so that they are not
// repacked.
base::Result<DeviceWeights> upload_weights(const DecoderWeights& weights, const ModelConfig& config,
                                           const DeviceOptions& options, ops::ComputePool& pool);
// Makes random weights for a decoder with plain attention. Queries, keys and values may have biases.
base::Result<DeviceWeights> random_weights(const ModelConfig& config, const DeviceOptions& options);

}  // namespace kvasir::model
