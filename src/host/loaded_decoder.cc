#include "host/loaded_decoder.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "config/load.h"
#include "engine/device_runner.h"
#include "engine/model_runner.h"
#include "kv/block.h"
#include "model/arch/parameter_count.h"
#include "model/decoder/kv_cache.h"
#include "model/tokenizer/tokenizer_cache.h"
#include "ops/cpu/memory_speed.h"

namespace kvasir::host {

using base::ErrorCode;
using base::Result;

namespace {

Result<int> count_blocks(const model::ModelConfig& config, const config::Settings& settings) {
  const std::int64_t per_block =
      model::KvCache::bytes_per_block(config, ops::kv_type_named(settings.kv_type));
  const std::int64_t num_blocks = (std::int64_t{settings.kv_memory_mb} << 20) / per_block;
  if (num_blocks < 2)
    return base::error(ErrorCode::invalid_argument,
                       "a KV cache of {} MiB holds no two blocks of {} bytes; raise --kv-memory-mb",
                       settings.kv_memory_mb, per_block);
  return static_cast<int>(std::min<std::int64_t>(num_blocks, 1 << 24));
}

model::TokenizerCache tokenizer_cache(const config::Settings& settings) {
  return model::TokenizerCache({.directory = config::tokenizer_dir(settings)});
}

// The bytes of the activations of a step's rows and the logits of its sequences.
std::int64_t workspace_bytes(const model::ModelConfig& config, const config::Settings& settings) {
  const std::int64_t of_row =
      std::int64_t{8} * config.hidden_size + std::int64_t{3} * config.intermediate_size;
  const std::int64_t floats =
      of_row * settings.max_batch_tokens + std::int64_t{config.vocab_size} * settings.max_batch_sequences;
  return floats * static_cast<std::int64_t>(sizeof(float));
}

// The speed of the memory: the setting, or else a measurement on the first call.
double cpu_bytes_per_s(const config::Settings& settings, ops::ComputePool& pool) {
  if (settings.memory_bandwidth_gbs > 0) return settings.memory_bandwidth_gbs * 1e9;
  static const double measured = ops::measure_memory_speed(pool);
  return measured;
}

// The speed of the GPU's memory: the setting, or else derived from its clock and bus.
double gpu_bytes_per_s(const config::Settings& settings) {
  if (settings.memory_bandwidth_gbs > 0) return settings.memory_bandwidth_gbs * 1e9;
  const Result<double> speed = model::cuda_memory_speed();
  return speed.ok() ? *speed : 0;
}

// The bytes of the matrices that a step on a GPU reads.
double gpu_weight_bytes(const model::ModelConfig& config, const config::Settings& settings) {
  const model::ParameterCount count = model::count_parameters(config);
  const double bytes = settings.gpu_weights == "fp8" ? 1 : settings.gpu_weights == "int4" ? 0.5625 : 2;
  return bytes * static_cast<double>(count.shared + count.experts) + 2 * static_cast<double>(count.head);
}

}  // namespace

Result<LoadedDecoder> load_on_cpu(const std::filesystem::path& path, const HostSurroundings& around,
                                  const std::stop_token& stop) {
  const config::Settings& settings = around.settings;
  TRY(model::LoadedModel loaded,
      model::open_model(path, {.stop = stop}, around.pool, tokenizer_cache(settings)));
  const model::ModelConfig config = loaded.config();
  TRY(const int num_blocks, count_blocks(config, settings));
  TRY(model::KvCache kv, model::KvCache::create(config, ops::kv_type_named(settings.kv_type), num_blocks));
  const auto kv_type = ops::kv_type_named(settings.kv_type);
  const auto kv_bytes = static_cast<double>(model::KvCache::bytes_per_block(config, kv_type));
  const auto footprint = engine::footprint_of(config, static_cast<double>(loaded.decoder->weight_bytes()),
                                              kv_bytes / kv::kBlockTokens);
  const router::ModelMemory memory{.kv = num_blocks * static_cast<std::int64_t>(kv_bytes),
                                   .workspace = workspace_bytes(config, settings)};
  auto runner = std::make_unique<engine::ModelRunner>(std::move(loaded.decoder), std::move(kv));
  return LoadedDecoder{std::move(loaded),
                       std::move(runner),
                       config,
                       num_blocks,
                       footprint,
                       cpu_bytes_per_s(settings, around.pool),
                       memory};
}

Result<LoadedDecoder> load_on_cuda(const std::filesystem::path& path, const HostSurroundings& around,
                                   const ReserveKv& reserve_kv, const std::stop_token& stop) {
  const config::Settings& settings = around.settings;
  const model::DeviceOptions options{
      .kv_bytes = std::int64_t{settings.kv_memory_mb} << 20,
      .kv_later = around.gpu_plan != nullptr,
      .max_rows = std::max(settings.max_batch_tokens, settings.max_batch_sequences),
      .max_sequences = settings.max_batch_sequences,
      .fp8_kv = settings.gpu_kv == "fp8",
      .weights = model::weight_numbers_named(settings.gpu_weights),
      .batch_invariant = settings.gpu_batch_invariant,
      .products_file = config::gpu_products_file(settings),
      .tunes_ahead = true,
      .stop = stop};
  TRY(model::LoadedDeviceModel loaded,
      model::open_model_on_cuda(path, options, around.pool, tokenizer_cache(settings)));
  if (around.gpu_plan != nullptr) TRY_OK(reserve_kv(*loaded.decoder));
  const model::ModelConfig config = loaded.config();
  const int num_blocks = loaded.decoder->num_blocks();
  const auto footprint =
      engine::footprint_of(config, gpu_weight_bytes(config, settings),
                           static_cast<double>(loaded.decoder->kv_block_bytes()) / kv::kBlockTokens);
  const router::ModelMemory memory{.weights = static_cast<std::int64_t>(gpu_weight_bytes(config, settings)),
                                   .kv = num_blocks * loaded.decoder->kv_block_bytes(),
                                   .workspace = workspace_bytes(config, settings)};
  auto runner = std::make_unique<engine::DeviceRunner>(std::move(loaded.decoder), around.pool);
  return LoadedDecoder{std::move(loaded), std::move(runner),         config, num_blocks,
                       footprint,         gpu_bytes_per_s(settings), memory};
}

}  // namespace kvasir::host
