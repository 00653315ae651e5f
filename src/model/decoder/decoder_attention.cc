#include <algorithm>
#include <cmath>

#include "model/decoder/decoder_state.h"
#include "ops/head_matmul.h"
#include "ops/paged_attention.h"

namespace kvasir::model {

namespace {

// The place of some columns: they begin at number `offset` of vectors that are `stride` apart.
struct Columns {
  int offset = 0;
  int stride = 0;
};

void copy_columns(std::span<const float> x, Columns from, int count, std::span<float> y, Columns to) {
  const std::size_t num_vectors = x.size() / static_cast<std::size_t>(from.stride);
  for (std::size_t i = 0; i < num_vectors; ++i) {
    std::copy_n(x.data() + i * static_cast<std::size_t>(from.stride) + from.offset, count,
                y.data() + i * static_cast<std::size_t>(to.stride) + to.offset);
  }
}

}  // namespace

void Decoder::State::attend(int index, const ops::KvLayer& kv) {
  const LayerConfig& layer = config().layers[static_cast<std::size_t>(index)];
  const AttentionWeights& w = weights.layers[static_cast<std::size_t>(index)].attention;
  const std::span<const float> x = normed_if(w.norm, hidden);
  if (config().is_latent()) {
    attend_latent(w, x, kv);
  } else {
    attend_plain(layer, w, x, kv);
  }
  apply(w.out, buffers.attention.take(num_rows, config().attention_size()), branch);
  add_branch(w.post_norm);
}

void Decoder::State::attend_plain(const LayerConfig& layer, const AttentionWeights& w,
                                  std::span<const float> x, const ops::KvLayer& kv) {
  const ModelConfig& c = config();
  const std::span<float> q = buffers.q.take(num_rows, c.q_size());
  const std::span<float> k = buffers.k.take(num_rows, c.kv_size());
  const std::span<float> v = buffers.v.take(num_rows, c.kv_size());
  apply(w.q, x, q);
  apply(w.k, x, k);
  apply(w.v, x, v);
  if (c.qk_norm != QkNorm::none) {
    normalize(w.q_norm, c.norm_eps, q, q);
    normalize(w.k_norm, c.norm_eps, k, k);
  }
  if (const ops::RopeTable* table = rope_of(layer)) {
    ops::rope(context, *table, c.num_heads, c.head_dim, q);
    ops::rope(context, *table, c.num_kv_heads, c.head_dim, k);
  }
  ops::store_kv(context, kv, slices, k, v);
  run_attention(layer, kv, q, buffers.attention.take(num_rows, c.attention_size()));
}

// A key is [rotated part, latent], its value is the latent, and all heads share both. A head's own key would
// be k_up times the latent. Instead, the query is multiplied by k_up once, and the result of attention by
// v_up. This takes more arithmetic for each position than keys and values of a head's own size, but a token
// needs only kv_rank + rope numbers of memory and bandwidth. The arithmetic is the same for every row,
// however it came into the batch.
void Decoder::State::attend_latent(const AttentionWeights& w, std::span<const float> x,
                                   const ops::KvLayer& kv) {
  const ModelConfig& c = config();
  const LatentConfig& l = c.latent;
  const int turned = c.rope.dim;
  const int key_size = turned + l.kv_rank;

  const std::span<float> down = buffers.kv_latent.take(num_rows, key_size);
  apply(w.latent.kv_down, x, down);
  const std::span<float> latent = buffers.latent.take(num_rows, l.kv_rank);
  copy_columns(down, {0, key_size}, l.kv_rank, latent, {0, l.kv_rank});
  normalize(w.latent.kv_down_norm, LatentConfig::kNormEps, latent, latent);
  const std::span<float> keys = buffers.k.take(num_rows, key_size);
  copy_columns(down, {l.kv_rank, key_size}, turned, keys, {0, key_size});
  copy_columns(latent, {0, l.kv_rank}, l.kv_rank, keys, {turned, key_size});

  const std::span<const float> q = project_queries(w, x);
  const std::span<float> wide = buffers.wide_q.take(num_rows, c.num_heads * key_size);
  copy_columns(q, {l.nope_dim, c.head_dim}, turned, wide, {0, key_size});
  ops::head_matmul(context, {q, {0, c.head_dim}, w.latent.k_up, wide, {turned, key_size}});

  const LayerConfig layer;
  ops::rope(context, *rope_of(layer), c.num_heads, key_size, wide);
  ops::rope(context, *rope_of(layer), 1, key_size, keys);
  ops::store_kv(context, kv, slices, keys, {});
  const std::span<float> out = buffers.wide_out.take(num_rows, c.num_heads * l.kv_rank);
  run_attention(layer, kv, wide, out);
  ops::head_matmul(context, {out,
                             {0, l.kv_rank},
                             w.latent.v_up,
                             buffers.attention.take(num_rows, c.attention_size()),
                             {0, l.value_dim}});
}

std::span<const float> Decoder::State::project_queries(const AttentionWeights& w, std::span<const float> x) {
  const std::span<float> q = buffers.q.take(num_rows, config().q_size());
  if (config().latent.q_rank > 0) {
    const std::span<float> down = buffers.q_latent.take(num_rows, config().latent.q_rank);
    apply(w.latent.q_down, x, down);
    normalize(w.latent.q_down_norm, LatentConfig::kNormEps, down, down);
    x = down;
  }
  apply(w.q, x, q);
  return q;
}

void Decoder::State::run_attention(const LayerConfig& layer, const ops::KvLayer& kv, std::span<const float> q,
                                   std::span<float> out) {
  const ModelConfig& c = config();
  const float scale =
      c.attention_scale > 0 ? c.attention_scale : 1.0f / std::sqrt(static_cast<float>(c.head_dim));
  ops::paged_attention(context, {.layer = kv,
                                 .slices = slices,
                                 .q = q,
                                 .out = out,
                                 .num_heads = c.num_heads,
                                 .scale = scale,
                                 .sliding_window = layer.sliding_window,
                                 .softcap = c.attention_softcap});
}

const ops::RopeTable* Decoder::State::rope_of(const LayerConfig& layer) const {
  switch (layer.rope) {
    case RopeUse::none:
      return nullptr;
    case RopeUse::global:
      return &*rope_table;
    case RopeUse::local:
      return &*local_rope_table;
  }
  return nullptr;
}

}  // namespace kvasir::model
