#include <algorithm>
#include <utility>

#include "model/cuda/cuda_state.h"

namespace kvasir::model {

using base::ErrorCode;

namespace {

base::Status check_supported(const ModelConfig& config, const DeviceOptions& options) {
  const tensor::DType type = options.type;
  if (type != tensor::DType::bf16 && type != tensor::DType::f32)
    return base::error(ErrorCode::unsupported, "a GPU computes in bf16 or f32, not {}",
                       tensor::info(type).name);
  const int key = config.is_latent() ? config.rope.dim + config.latent.kv_rank : config.head_dim;
  const bool fits = config.hidden_size % 8 == 0 && config.hidden_size <= 32768 &&
                    config.intermediate_size % 8 == 0 && config.head_dim % 8 == 0 && key <= 640;
  if (!fits)
    return base::error(ErrorCode::unsupported,
                       "hidden size {}, inner size {}, heads of {}: no kernels on a GPU", config.hidden_size,
                       config.intermediate_size, key);
  const bool dense = std::ranges::none_of(config.layers, &LayerConfig::sparse) && !config.is_latent();
  const bool even = config.hidden_size % 16 == 0 && config.intermediate_size % 16 == 0 &&
                    config.q_size() % 16 == 0 && config.kv_size() % 16 == 0;
  if (options.weights == WeightNumbers::fp8 &&
      !(type == tensor::DType::bf16 && dense && even && config.norm_before()))
    return base::error(ErrorCode::unsupported, "weights in fp8 are for dense decoders with norms before");
  if (options.weights == WeightNumbers::int4 && !(type == tensor::DType::bf16 && dense))
    return base::error(ErrorCode::unsupported, "weights in int4 are for dense decoders");
  if (options.batch_invariant && !(type == tensor::DType::bf16 && dense && ops::cuda::architecture() == 90))
    return base::error(ErrorCode::unsupported,
                       "batch invariance is for dense decoders in bf16 on an sm_90 GPU");
  const bool known = config.head_dim == 64 || config.head_dim == 128;
  if (options.fp8_kv && !(type == tensor::DType::bf16 && known && !config.is_latent()))
    return base::error(ErrorCode::unsupported, "keys and values in fp8 are for heads of 64 or 128, not {}",
                       config.head_dim);
  return base::ok();
}

}  // namespace

base::Result<std::unique_ptr<DeviceDecoder>> load_cuda_decoder(Checkpoint checkpoint,
                                                               const DeviceOptions& options,
                                                               ops::ComputePool& pool) {
  TRY_OK(ops::cuda::find_device());
  TRY_OK(check_supported(checkpoint.config, options));
  TRY(const DecoderWeights weights, load_weights(checkpoint, ops::Precision::exact, pool, options.stop));
  TRY(DeviceWeights uploaded, upload_weights(weights, checkpoint.config, options, pool));
  return CudaDecoder::create(checkpoint.config, std::move(uploaded), options);
}

base::Result<std::int64_t> cuda_free_bytes() {
  TRY(const ops::cuda::DeviceInfo device, ops::cuda::find_device());
  return static_cast<std::int64_t>(device.free_bytes);
}

base::Result<double> cuda_memory_speed() {
  TRY(const ops::cuda::DeviceInfo device, ops::cuda::find_device());
  return device.memory_bytes_per_s;
}

base::Result<std::unique_ptr<DeviceDecoder>> make_random_cuda_decoder(const ModelConfig& config,
                                                                      const DeviceOptions& options) {
  TRY_OK(ops::cuda::find_device());
  TRY_OK(check_supported(config, options));
  TRY(DeviceWeights weights, random_weights(config, options));
  return CudaDecoder::create(config, std::move(weights), options);
}

}  // namespace kvasir::model
