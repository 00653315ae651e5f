#include <algorithm>
#include <utility>

#include "base/check.h"
#include "model/cuda/cuda_state.h"

// Allocates a decoder's memory on the device.
namespace kvasir::model {

using ops::cuda::DeviceBuffer;

namespace {

base::Result<int> count_blocks(std::int64_t bytes, std::int64_t per_block) {
  if (bytes == 0) {
    TRY(const ops::cuda::DeviceInfo device, ops::cuda::find_device());
    bytes = static_cast<std::int64_t>(device.free_bytes / 10 * 9);
  }
  const std::int64_t num_blocks = std::min<std::int64_t>(bytes / per_block, 1 << 24);
  if (num_blocks < 2)
    return base::error(base::ErrorCode::invalid_argument,
                       "a KV cache of {} bytes holds no two blocks of {} bytes", bytes, per_block);
  return static_cast<int>(num_blocks);
}

}  // namespace

int CudaDecoder::recorded_rows(int rows) {
  if (rows <= 2) return rows;
  const int step = rows <= 8 ? 4 : rows <= 64 ? 8 : rows <= 256 ? 16 : 32;
  return (rows + step - 1) / step * step;
}

int CudaDecoder::recorded_items(int items, int rows) {
  int step = 8;
  while (step * 16 < items) step *= 2;
  return std::max(rows, (items + step - 1) / step * step);
}

int CudaDecoder::max_logit_rows() const {
  return recorded_rows(options_.max_sequences) + options_.max_prompt_rows;
}

int CudaDecoder::max_step_rows() const {
  return std::max(options_.max_rows, recorded_rows(options_.max_sequences));
}

base::Status CudaDecoder::make_rope(RopeUse use, std::optional<DeviceRope>& rope) {
  const auto uses = [use](const LayerConfig& layer) { return layer.rope == use; };
  if (std::none_of(config_.layers.begin(), config_.layers.end(), uses)) return base::ok();
  const RopeConfig& from = use == RopeUse::local ? config_.local_rope : config_.rope;
  const RopeFrequencies made = frequencies(from);
  if (made.inverse_frequencies.size() % 2 != 0 || config_.head_dim % 4 != 0)
    return base::error(base::ErrorCode::unsupported, "{} pairs of {} numbers cannot be rotated on a GPU",
                       made.inverse_frequencies.size(), config_.head_dim);
  rope.emplace();
  rope->style = from.style;
  rope->num_pairs = static_cast<int>(made.inverse_frequencies.size());
  rope->factor = made.attention_factor;
  const std::size_t bytes = made.inverse_frequencies.size() * sizeof(float);
  TRY(rope->inverse_frequencies, DeviceBuffer::allocate(bytes));
  TRY(rope->table, DeviceBuffer::allocate(bytes * 2 * static_cast<std::size_t>(max_step_rows())));
  ops::cuda::copy_to_device(stream(), rope->inverse_frequencies.data(), made.inverse_frequencies.data(),
                            bytes);
  stream_.wait();
  return base::ok();
}

base::Status CudaDecoder::allocate() {
  TRY_OK(make_rope(RopeUse::global, rope_));
  TRY_OK(make_rope(RopeUse::local, local_rope_));
  const bool latent = config_.is_latent();
  const int token = latent ? config_.rope.dim + config_.latent.kv_rank : config_.kv_size();
  kv_block_bytes_ = tensor::bytes_of(options_.type, std::int64_t{token} * ops::cuda::kBlockTokens);
  if (options_.fp8_kv) kv_block_bytes_ /= 2;
  TRY_OK(allocate_scratch());
  const auto logit_rows = static_cast<std::size_t>(max_logit_rows());
  for (UnderWay& step : steps_) {
    TRY(step.drawn, ops::cuda::PinnedBuffer::allocate(sizeof(ops::RowDrawn) * logit_rows));
    TRY(step.top, ops::cuda::PinnedBuffer::allocate(sizeof(ops::TopToken) * ops::kMaxTopTokens * logit_rows));
  }
  TRY(scratch_.drawn, DeviceBuffer::allocate(steps_[0].drawn.size()));
  TRY(scratch_.top, DeviceBuffer::allocate(steps_[0].top.size()));
  TRY(scratch_.histories,
      DeviceBuffer::allocate(sizeof(std::uint32_t) * static_cast<std::size_t>(options_.max_sequences) *
                             static_cast<std::size_t>(ops::count_words(config_.vocab_size))));
  int num_blocks = std::exchange(options_.num_blocks, 0);
  if (options_.kv_later) return base::ok();
  if (num_blocks == 0) {
    TRY(num_blocks, count_blocks(options_.kv_bytes, kv_block_bytes()));
  }
  return reserve_kv(num_blocks);
}

base::Status CudaDecoder::reserve_kv(int num_blocks) {
  CHECK(kv_.empty(), "KV is reserved once");
  const std::int64_t part = kv_block_bytes_ * num_blocks;
  TRY(kv_memory_, DeviceBuffer::allocate(static_cast<std::size_t>(kv_block_bytes() * num_blocks)));
  ops::cuda::fill_zero(stream(), kv_memory_.data(), kv_memory_.size());
  for (int i = 0; i < config_.num_layers; ++i) {
    std::byte* k = kv_memory_.data() + i * kv_parts() * part;
    kv_.push_back({k, config_.is_latent() ? nullptr : k + part});
  }
  TRY(block_, ops::cuda::PinnedBuffer::allocate(static_cast<std::size_t>(kv_block_bytes())));
  options_.num_blocks = num_blocks;
  return prepare_lone_row();
}

base::Status CudaDecoder::allocate_scratch() {
  const ModelConfig& c = config_;
  DeviceScratch& s = scratch_;
  const MixtureConfig& m = c.mixture;
  const std::int64_t rows = max_step_rows();
  const std::int64_t logit_rows = max_logit_rows();
  const auto reserve = [&](DeviceBuffer& buffer, std::int64_t count, std::int64_t cols) -> base::Status {
    TRY(buffer,
        DeviceBuffer::allocate(static_cast<std::size_t>(tensor::bytes_of(options_.type, count * cols))));
    return base::ok();
  };
  TRY_OK(reserve(s.hidden, rows, c.hidden_size));
  TRY_OK(reserve(s.branch, rows, c.hidden_size));
  TRY_OK(reserve(s.normed, rows, c.hidden_size));
  TRY_OK(reserve(s.qkv, rows, c.q_size() + 2 * c.kv_size()));
  TRY_OK(reserve(s.attention, rows, c.attention_size()));
  const std::int64_t inner = std::max(
      {c.intermediate_size, m.shared_intermediate_size, m.num_experts > 0 ? m.intermediate_size : 0});
  TRY_OK(reserve(s.gate_up, rows, 2 * inner));
  TRY_OK(reserve(s.inner, rows, inner));
  if (options_.weights == WeightNumbers::int4) {
    std::int64_t largest = 0;
    for (const DeviceLayer& layer : weights_.layers)
      for (const DeviceLinear* linear : {&layer.qkv, &layer.out, &layer.mlp.up, &layer.mlp.down})
        if (linear->groups != nullptr) largest = std::max(largest, linear->out * linear->in);
    TRY_OK(reserve(s.unpacked, largest, 1));
  }
  if (options_.weights == WeightNumbers::fp8) {
    TRY_OK(reserve(s.quantized, rows, c.attention_size()));
    TRY(s.x_scales, DeviceBuffer::allocate(static_cast<std::size_t>(rows) * sizeof(float)));
  }
  if (c.head_dim == 128 && !c.is_latent() && !options_.fp8_kv && options_.type == tensor::DType::bf16) {
    TRY(s.tile_partials, DeviceBuffer::allocate(ops::cuda::kTilePartialFloats * sizeof(float)));
  }
  TRY_OK(reserve(s.last, logit_rows, c.hidden_size));
  const std::int64_t float_cols = std::int64_t{c.vocab_size} * 4 / tensor::bytes_of(options_.type, 1);
  TRY_OK(reserve(s.logits, logit_rows, float_cols));
  if (m.num_experts > 0) {
    const std::int64_t slots = rows * m.num_used;
    TRY_OK(reserve(s.router, rows, std::int64_t{m.num_experts} * 4));
    if (!routes_on_device(c, options_)) {
      TRY_OK(reserve(s.slots, slots, c.hidden_size));
    }
    TRY_OK(reserve(s.slot_out, slots, c.hidden_size));
    for (DeviceBuffer* buffer : {&s.slot_rows, &s.row_slots, &s.row_weights}) {
      TRY(*buffer, DeviceBuffer::allocate(static_cast<std::size_t>(slots) * 4));
    }
    TRY(s.row_experts, DeviceBuffer::allocate(static_cast<std::size_t>(slots) * 4));
    TRY(s.first_slots, DeviceBuffer::allocate((static_cast<std::size_t>(m.num_experts) + 1) * 4));
    TRY_OK(reserve(s.slot_inner, slots, m.intermediate_size));
  }
  if (c.is_latent()) {
    const std::int64_t key = c.rope.dim + c.latent.kv_rank;
    TRY_OK(reserve(s.q_latent, rows, c.latent.q_rank));
    TRY_OK(reserve(s.kv_latent, rows, key));
    TRY_OK(reserve(s.latent, rows, c.latent.kv_rank));
    TRY_OK(reserve(s.keys, rows, key));
    TRY_OK(reserve(s.wide_q, rows, c.num_heads * key));
    TRY_OK(reserve(s.wide_out, rows, std::int64_t{c.num_heads} * c.latent.kv_rank));
  }
  return base::ok();
}

base::Status CudaDecoder::reserve_partials(int num_split_items) {
  const int items = recorded_items(num_split_items, recorded_rows(options_.max_sequences));
  const std::size_t bytes =
      ops::cuda::partial_floats(items, config_.num_heads, config_.head_dim) * sizeof(float);
  if (scratch_.partials.size() >= bytes) return base::ok();
  TRY(scratch_.partials, DeviceBuffer::allocate(bytes + bytes / 2));
  TRY(scratch_.counters, DeviceBuffer::allocate(sizeof(std::int32_t) * 2 * static_cast<std::size_t>(items) *
                                                static_cast<std::size_t>(config_.num_heads)));
  ops::cuda::fill_zero(stream(), scratch_.counters.data(), scratch_.counters.size());
  graphs_.clear();
  return base::ok();
}

}  // namespace kvasir::model
