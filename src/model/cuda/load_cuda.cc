#include <algorithm>
#include <utility>

#include "model/cuda/cuda_state.h"
#include "model/kv_cache.h"

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
  if (options.fp8_weights && !(type == tensor::DType::bf16 && dense && even && config.norm_before()))
    return base::error(ErrorCode::unsupported, "weights in fp8 are for dense decoders with norms before");
  const bool known = config.head_dim == 64 || config.head_dim == 128;
  if (options.fp8_kv && !(type == tensor::DType::bf16 && known && !config.is_latent()))
    return base::error(ErrorCode::unsupported, "keys and values in fp8 are for heads of 64 or 128, not {}",
                       config.head_dim);
  return base::ok();
}

// The options with a number of blocks.
base::Result<DeviceOptions> with_blocks(const ModelConfig& config, DeviceOptions options) {
  if (options.num_blocks > 0) return options;
  const std::int64_t per_block =
      KvCache::bytes_per_block(config,
                               options.type == tensor::DType::f32 ? ops::KvType::f32 : ops::KvType::bf16) /
      (options.fp8_kv ? 2 : 1);
  const std::int64_t num_blocks = std::min<std::int64_t>(options.kv_bytes / per_block, 1 << 24);
  if (num_blocks < 2)
    return base::error(ErrorCode::invalid_argument, "a KV cache of {} bytes holds no two blocks of {} bytes",
                       options.kv_bytes, per_block);
  options.num_blocks = static_cast<int>(num_blocks);
  return options;
}

}  // namespace

base::Result<std::unique_ptr<DeviceDecoder>> load_cuda_decoder(Checkpoint checkpoint,
                                                               const DeviceOptions& options,
                                                               ops::ComputePool& pool) {
  TRY_OK(ops::cuda::find_device());
  TRY_OK(check_supported(checkpoint.config, options));
  TRY(const DeviceOptions counted, with_blocks(checkpoint.config, options));
  TRY(const DecoderWeights weights, load_weights(checkpoint, ops::Precision::exact, pool, options.stop));
  TRY(DeviceWeights uploaded, upload_weights(weights, checkpoint.config, options, pool));
  return CudaDecoder::create(checkpoint.config, std::move(uploaded), counted);
}

base::Result<std::unique_ptr<DeviceDecoder>> make_random_cuda_decoder(const ModelConfig& config,
                                                                      const DeviceOptions& options) {
  TRY_OK(ops::cuda::find_device());
  TRY_OK(check_supported(config, options));
  TRY(const DeviceOptions counted, with_blocks(config, options));
  TRY(DeviceWeights weights, random_weights(config, options));
  return CudaDecoder::create(config, std::move(weights), counted);
}

}  // namespace kvasir::model
