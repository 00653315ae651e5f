#pragma once

#include <optional>
#include <span>
#include <vector>

#include "model/decoder/decoder.h"
#include "model/decoder/decoder_weights.h"
#include "ops/cpu/context.h"
#include "ops/experts.h"
#include "ops/kv_cache.h"
#include "ops/rope.h"
#include "tensor/row_buffer.h"

namespace kvasir::model {

// A decoder and the step that it computes. decoder.cc begins and ends a step; decoder_attention.cc and
// decoder_feed_forward.cc hold the two halves of a layer.
struct Decoder::State {
  State(Checkpoint opened, DecoderWeights loaded, ops::ComputePool& pool);

  const ModelConfig& config() const { return checkpoint.config; }

  void begin(const StepBatch& batch, const KvCache& kv);
  void attend(int layer, const ops::KvLayer& kv);
  void feed_forward(int layer);
  void head(const StepBatch& batch, std::span<float> logits);

  std::span<const float> project_queries(const AttentionWeights& weights, std::span<const float> x);
  void attend_plain(const LayerConfig& layer, const AttentionWeights& weights, std::span<const float> x,
                    const ops::KvLayer& kv);
  void attend_latent(const AttentionWeights& weights, std::span<const float> x, const ops::KvLayer& kv);
  void run_attention(const LayerConfig& layer, const ops::KvLayer& kv, std::span<const float> q,
                     std::span<float> out);
  void run_mlp(const MlpWeights& mlp, int inner, std::span<const float> x, std::span<float> y);
  void run_mixture(const FeedForwardWeights& weights, std::span<const float> x);

  // Returns the normalised `x`, or `x` itself if there is no norm.
  std::span<const float> normed_if(const Norm& norm, std::span<float> x);
  void normalize(const Norm& norm, float eps, std::span<const float> x, std::span<float> y);
  void apply(const Linear& linear, std::span<const float> x, std::span<float> y);
  // Adds `branch`, normalised and scaled as the config says, to `hidden`.
  void add_branch(const Norm& post_norm);
  const ops::RopeTable* rope_of(const LayerConfig& layer) const;

  Checkpoint checkpoint;
  DecoderWeights weights;
  ops::Context context;
  std::optional<ops::RopeTable> rope_table;
  std::optional<ops::RopeTable> local_rope_table;

  std::size_t num_rows = 0;
  std::vector<ops::KvSlice> slices;
  std::vector<std::int32_t> positions;
  ops::ExpertPlan plan;

  std::span<float> hidden;  // [rows, hidden]
  std::span<float> branch;  // [rows, hidden]: what a half layer adds
  struct {
    tensor::RowBuffer hidden, branch, normed, ordered, last;
    tensor::RowBuffer q, k, v, attention;
    tensor::RowBuffer q_latent, kv_latent, latent, wide_q, wide_out;  // latent attention
    tensor::RowBuffer gate, up, router, slots, slot_out;
  } buffers;
};

}  // namespace kvasir::model
