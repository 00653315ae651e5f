#include <cmath>

#include "model/cuda/cuda_state.h"
#include "ops/cuda/experts.h"
#include "ops/cuda/rows.h"

namespace kvasir::model {

using ops::cuda::NormWeights;

const DeviceRope* CudaDecoder::rope_of(const LayerConfig& layer) const {
  switch (layer.rope) {
    case RopeUse::none:
      return nullptr;
    case RopeUse::global:
      return &*rope_;
    case RopeUse::local:
      return &*local_rope_;
  }
  return nullptr;
}

void CudaDecoder::attend(int index) {
  const DeviceLayer& layer = weights_.layers[static_cast<std::size_t>(index)];
  if (config_.is_latent())
    attend_latent(index);
  else
    attend_plain(index);
  const ops::cuda::DeviceBuffer& x = quantizes() ? scratch_.quantized : scratch_.attention;
  if (quantizes())
    ops::cuda::quantize_rows(stream(), {.rows = rows(),
                                        .dim = config_.attention_size(),
                                        .x = scratch_.attention.data(),
                                        .y = x.data(),
                                        .y_scales = scratch_.x_scales.as<float>()});
  end_half(layer.out, x.data(), layer.attention_post_norm);
}

void CudaDecoder::attend_plain(int index) {
  const LayerConfig& layer = config_.layers[static_cast<std::size_t>(index)];
  const DeviceLayer& w = weights_.layers[static_cast<std::size_t>(index)];
  const std::int64_t width = w.qkv.out;
  const auto part = [&](std::int64_t offset) {
    return scratch_.qkv.data() + tensor::bytes_of(options_.type, offset);
  };
  if (few_rows())
    multiply_few(w.qkv, scratch_.hidden.data(), w.attention_norm, ops::cuda::GemvArgs::Then::store,
                 scratch_.qkv.data());
  else
    apply(w.qkv, normed_or_hidden(w.attention_norm), rows(), scratch_.qkv.data());
  const bool turn_normalizes =
      config_.qk_norm == QkNorm::heads && w.q_norm.bias == nullptr && w.k_norm.bias == nullptr;
  if (config_.qk_norm != QkNorm::none && !turn_normalizes) {
    const bool whole = config_.qk_norm == QkNorm::whole;
    const auto normalize = [&](const NormWeights& norm, int num_heads, std::int64_t offset) {
      ops::cuda::norm_vectors(stream(), {.type = options_.type,
                                         .rows = rows(),
                                         .count = whole ? 1 : num_heads,
                                         .dim = whole ? num_heads * config_.head_dim : config_.head_dim,
                                         .row_stride = width,
                                         .eps = config_.norm_eps,
                                         .norm = norm,
                                         .x = part(offset)});
    };
    normalize(w.q_norm, config_.num_heads, 0);
    normalize(w.k_norm, config_.num_kv_heads, config_.q_size());
  }
  const DeviceRope* rope = rope_of(layer);
  const KvLayer& kv = kv_[static_cast<std::size_t>(index)];
  ops::cuda::rope_and_store(stream(), {.type = options_.type,
                                       .style = rope ? rope->style : ops::RopeStyle::neox,
                                       .rows = rows(),
                                       .num_heads = rope || turn_normalizes ? config_.num_heads : 0,
                                       .num_kv_heads = config_.num_kv_heads,
                                       .head_dim = config_.head_dim,
                                       .num_pairs = rope ? rope->num_pairs : 0,
                                       .table = rope ? rope->table.as<const float>() : nullptr,
                                       .q = part(0),
                                       .k = part(config_.q_size()),
                                       .v = part(config_.q_size() + config_.kv_size()),
                                       .q_stride = width,
                                       .kv_stride = width,
                                       .q_norm = turn_normalizes ? w.q_norm.weight : nullptr,
                                       .k_norm = turn_normalizes ? w.k_norm.weight : nullptr,
                                       .eps = config_.norm_eps,
                                       .slots = upload_.view().slots,
                                       .kv = kv_numbers(),
                                       .k_cache = kv.k,
                                       .v_cache = kv.v});
  run_attention(index, part(0), width, scratch_.attention.data());
}

// Computes as the CPU does: a key is [rotated part, latent], its value is the latent, and all heads share
// both.
void CudaDecoder::attend_latent(int index) {
  const DeviceLayer& w = weights_.layers[static_cast<std::size_t>(index)];
  const LatentConfig& l = config_.latent;
  const tensor::DType type = options_.type;
  const int turned = config_.rope.dim;
  const int key_size = turned + l.kv_rank;
  const std::int64_t num_rows = rows();
  const void* x = normed_or_hidden(w.attention_norm);
  const auto normalize = [&](const NormWeights& norm, int dim, void* vectors) {
    ops::cuda::norm_vectors(stream(), {.type = type,
                                       .rows = rows(),
                                       .count = 1,
                                       .dim = dim,
                                       .row_stride = dim,
                                       .eps = LatentConfig::kNormEps,
                                       .norm = norm,
                                       .x = vectors});
  };

  void* down = scratch_.kv_latent.data();
  void* latent = scratch_.latent.data();
  void* keys = scratch_.keys.data();
  apply(w.kv_down, x, rows(), down);
  ops::cuda::copy_columns(stream(), {type, num_rows, l.kv_rank, down, 0, key_size, latent, 0, l.kv_rank});
  normalize(w.kv_down_norm, l.kv_rank, latent);
  ops::cuda::copy_columns(stream(), {type, num_rows, turned, down, l.kv_rank, key_size, keys, 0, key_size});
  ops::cuda::copy_columns(stream(),
                          {type, num_rows, l.kv_rank, latent, 0, l.kv_rank, keys, turned, key_size});

  if (l.q_rank > 0) {
    apply(w.q_down, x, rows(), scratch_.q_latent.data());
    normalize(w.q_down_norm, l.q_rank, scratch_.q_latent.data());
    x = scratch_.q_latent.data();
  }
  void* q = scratch_.qkv.data();
  void* wide = scratch_.wide_q.data();
  apply(w.qkv, x, rows(), q);
  ops::cuda::copy_columns(stream(), {type, num_rows * config_.num_heads, turned, q, l.nope_dim,
                                     config_.head_dim, wide, 0, key_size});
  ops::cuda::head_matmul(stream(), {type, rows(), config_.num_heads, l.nope_dim, l.kv_rank, q, 0,
                                    config_.head_dim, w.k_up, wide, turned, key_size});
  const KvLayer& kv = kv_[static_cast<std::size_t>(index)];
  ops::cuda::rope_and_store(stream(), {.type = type,
                                       .style = rope_->style,
                                       .rows = rows(),
                                       .num_heads = config_.num_heads,
                                       .num_kv_heads = 1,
                                       .head_dim = key_size,
                                       .num_pairs = rope_->num_pairs,
                                       .table = rope_->table.as<const float>(),
                                       .q = wide,
                                       .k = keys,
                                       .q_stride = static_cast<std::int64_t>(config_.num_heads) * key_size,
                                       .kv_stride = key_size,
                                       .slots = upload_.view().slots,
                                       .k_cache = kv.k});
  run_attention(index, wide, static_cast<std::int64_t>(config_.num_heads) * key_size,
                scratch_.wide_out.data());
  ops::cuda::head_matmul(
      stream(), {type, rows(), config_.num_heads, l.kv_rank, l.value_dim, scratch_.wide_out.data(), 0,
                 l.kv_rank, w.v_up, scratch_.attention.data(), 0, l.value_dim});
}

float CudaDecoder::attention_scale() const {
  return config_.attention_scale > 0 ? config_.attention_scale
                                     : 1.0f / std::sqrt(static_cast<float>(config_.head_dim));
}

void CudaDecoder::run_attention(int index, const void* q, std::int64_t q_stride, void* out) {
  const bool latent = config_.is_latent();
  const KvLayer& kv = kv_[static_cast<std::size_t>(index)];
  ops::cuda::AttentionArgs args{
      .type = options_.type,
      .kv = kv_numbers(),
      .step = upload_.view(),
      .q = q,
      .q_stride = q_stride,
      .k = kv.k,
      .num_blocks = num_blocks(),
      .v = kv.v,
      .out = out,
      .num_heads = config_.num_heads,
      .num_kv_heads = latent ? 1 : config_.num_kv_heads,
      .head_dim = latent ? config_.rope.dim + config_.latent.kv_rank : config_.head_dim,
      .value_dim = latent ? config_.latent.kv_rank : config_.head_dim,
      .scale = attention_scale(),
      .softcap = config_.attention_softcap,
      .partials = scratch_.partials.as<float>(),
      .counters = scratch_.counters.as<std::int32_t>(),
      .tile_partials = options_.batch_invariant ? nullptr : scratch_.tile_partials.as<float>()};
  if (!latent) args.sliding_window = config_.layers[static_cast<std::size_t>(index)].sliding_window;
  ops::cuda::attend(stream(), args);
}

}  // namespace kvasir::model
