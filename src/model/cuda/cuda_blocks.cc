#include <fmt/format.h>

#include <cstring>

#include "base/check.h"
#include "model/cuda/cuda_state.h"
#include "ops/types/turn.h"

// Copies blocks out of the device and into it. On the device, keys are [kv_heads, 16 tokens, head_dim] as in
// the canonical form, but values are [kv_heads, head_dim, 16 tokens], so the host transposes them.
namespace kvasir::model {

namespace {

// The sizes of a block's values, which are one matrix for each head.
struct Values {
  std::size_t number_bytes = 0;
  std::size_t head_bytes = 0;
  std::size_t num_bytes = 0;
};

void turn_values(const Values& values, const std::byte* from, ops::MatrixShape head, std::byte* to) {
  for (std::size_t at = 0; at < values.num_bytes; at += values.head_bytes) {
    switch (values.number_bytes) {
      case 1:
        ops::turn(reinterpret_cast<const std::uint8_t*>(from + at), head,
                  reinterpret_cast<std::uint8_t*>(to + at));
        break;
      case 2:
        ops::turn(reinterpret_cast<const std::uint16_t*>(from + at), head,
                  reinterpret_cast<std::uint16_t*>(to + at));
        break;
      default:
        ops::turn(reinterpret_cast<const float*>(from + at), head, reinterpret_cast<float*>(to + at));
    }
  }
}

Values values_of(const ModelConfig& config, std::size_t part_bytes) {
  Values values{.head_bytes = part_bytes / static_cast<std::size_t>(config.num_kv_heads),
                .num_bytes = part_bytes};
  values.number_bytes =
      values.head_bytes / static_cast<std::size_t>(config.head_dim * ops::cuda::kBlockTokens);
  return values;
}

}  // namespace

std::string CudaDecoder::block_form() const {
  if (config_.is_latent()) return {};
  const std::string_view type = options_.fp8_kv                       ? "e4m3"
                                : options_.type == tensor::DType::f32 ? "f32"
                                                                      : "bf16";
  return fmt::format("{} {}x2x{}x{}", type, config_.num_layers, config_.num_kv_heads, config_.head_dim);
}

void CudaDecoder::export_block(std::int32_t block, std::span<std::byte> out) {
  const auto part = static_cast<std::size_t>(kv_block_bytes_);
  CHECK(block >= 0 && block < num_blocks() && out.size() == block_.size(), "block {} as {} bytes", block,
        out.size());
  std::byte* to = block_.data();
  for (const KvLayer& layer : kv_)
    for (const std::byte* from : {layer.k, layer.v}) {
      ops::cuda::copy_to_host(stream(), to, from + block * kv_block_bytes_, part);
      to += part;
    }
  stream_.wait();
  const Values values = values_of(config_, part);
  for (std::size_t at = 0; at < out.size(); at += 2 * part) {
    std::memcpy(out.data() + at, block_.data() + at, part);
    turn_values(values, block_.data() + at + part, {config_.head_dim, ops::cuda::kBlockTokens},
                out.data() + at + part);
  }
}

void CudaDecoder::import_block(std::int32_t block, std::span<const std::byte> in) {
  const auto part = static_cast<std::size_t>(kv_block_bytes_);
  CHECK(block >= 0 && block < num_blocks() && in.size() == block_.size(), "block {} of {} bytes", block,
        in.size());
  const Values values = values_of(config_, part);
  for (std::size_t at = 0; at < in.size(); at += 2 * part) {
    std::memcpy(block_.data() + at, in.data() + at, part);
    turn_values(values, in.data() + at + part, {ops::cuda::kBlockTokens, config_.head_dim},
                block_.data() + at + part);
  }
  const std::byte* from = block_.data();
  for (const KvLayer& layer : kv_)
    for (std::byte* to : {layer.k, layer.v}) {
      ops::cuda::copy_to_device(stream(), to + block * kv_block_bytes_, from, part);
      from += part;
    }
  stream_.wait();  // the next block uses the same memory
}

}  // namespace kvasir::model
