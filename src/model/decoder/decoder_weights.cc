#include "model/decoder/decoder_weights.h"

#include <cstring>
#include <string>
#include <utility>

namespace kvasir::model {

namespace {

class Loader {
 public:
  Loader(const Checkpoint& checkpoint, ops::Precision precision, ops::ComputePool& pool,
         const std::stop_token& stop)
      : config_(checkpoint.config),
        names_(checkpoint.names),
        reader_(*checkpoint.weights,
                {precision, config_.norm, names_.norm_offset, names_.transposed,
                 used_prefix(*checkpoint.weights, names_.optional_prefix, names_.embedding),
                 checkpoint.packing, stop},
                pool) {}

  base::Result<DecoderWeights> load() {
    const std::int64_t hidden = config_.hidden_size;
    DecoderWeights weights;
    TRY(weights.embedding, reader_.find(names_.embedding, {config_.vocab_size, hidden}));
    if (config_.learned_positions) {
      TRY(weights.positions, reader_.find(names_.positions, {config_.context_length, hidden}));
    }
    for (layer_ = 0; layer_ < config_.num_layers; ++layer_) {
      LayerWeights& layer = weights.layers.emplace_back();
      TRY(layer.attention, attention());
      TRY(layer.feed_forward, feed_forward());
    }
    TRY(weights.output_norm, reader_.norm(names_.output_norm, hidden));
    tensor::TensorView output = weights.embedding;
    if (!config_.tied_embeddings) {
      TRY(output, reader_.find(names_.output, {config_.vocab_size, hidden}));
    }
    TRY(weights.output, reader_.weight(output));
    weights.copies = reader_.take_copies();
    return weights;
  }

 private:
  std::string name(std::string_view pattern) const { return layer_name(pattern, layer_); }

  base::Result<Linear> linear(std::string_view pattern, std::int64_t rows, std::int64_t cols, Bias bias) {
    return reader_.linear(name(pattern), RowRange::all(rows), cols, bias);
  }

  base::Result<AttentionWeights> attention() {
    const std::int64_t hidden = config_.hidden_size;
    AttentionWeights weights;
    if (config_.norm_before()) {
      TRY(weights.norm, reader_.norm(name(names_.attention_norm), hidden));
    }
    if (config_.norm_after()) {
      TRY(weights.post_norm, reader_.norm(name(names_.attention_post_norm), hidden));
    }
    if (config_.is_latent()) {
      TRY_OK(add_latent(weights));
    } else if (!names_.qkv.empty()) {
      TRY_OK(add_fused(weights));
    } else {
      const Bias bias = bias_if(config_.qkv_bias);
      TRY(weights.q, linear(names_.q, config_.q_size(), hidden, bias));
      TRY(weights.k, linear(names_.k, config_.kv_size(), hidden, bias));
      TRY(weights.v, linear(names_.v, config_.kv_size(), hidden, bias));
    }
    if (config_.qk_norm != QkNorm::none) {
      const bool whole = config_.qk_norm == QkNorm::whole;
      TRY(weights.q_norm, reader_.norm(name(names_.q_norm), whole ? config_.q_size() : config_.head_dim));
      TRY(weights.k_norm, reader_.norm(name(names_.k_norm), whole ? config_.kv_size() : config_.head_dim));
    }
    TRY(weights.out,
        linear(names_.attention_out, hidden, config_.attention_size(), bias_if(config_.attention_out_bias)));
    return weights;
  }

  base::Status add_fused(AttentionWeights& weights) {
    const std::int64_t q = config_.q_size();
    const std::int64_t kv = config_.kv_size();
    const std::int64_t stored = q + 2 * kv;
    const Bias bias = bias_if(config_.qkv_bias);
    const auto part = [&](std::int64_t first, std::int64_t count) {
      return reader_.linear(name(names_.qkv), {first, count, stored}, config_.hidden_size, bias);
    };
    TRY(weights.q, part(0, q));
    TRY(weights.k, part(q, kv));
    TRY(weights.v, part(q + kv, kv));
    return base::ok();
  }

  base::Status add_latent(AttentionWeights& weights) {
    const LatentConfig& config = config_.latent;
    const std::int64_t hidden = config_.hidden_size;
    LatentWeights& latent = weights.latent;
    const Bias bias = bias_if(config_.qkv_bias);
    if (config.q_rank > 0) {
      TRY(latent.q_down, linear(names_.q_down, config.q_rank, hidden, bias));
      TRY(latent.q_down_norm, reader_.norm(name(names_.q_down_norm), config.q_rank));
      TRY(weights.q, linear(names_.q_up, config_.q_size(), config.q_rank, Bias::absent));
    } else {
      TRY(weights.q, linear(names_.q, config_.q_size(), hidden, Bias::absent));
    }
    TRY(latent.kv_down, linear(names_.kv_down, config.kv_rank + config_.rope.dim, hidden, bias));
    TRY(latent.kv_down_norm, reader_.norm(name(names_.kv_down_norm), config.kv_rank));
    if (!names_.k_up.empty() && reader_.contains(name(names_.k_up))) {
      TRY(const tensor::TensorView k,
          reader_.find(name(names_.k_up), {config_.num_heads, config.kv_rank, config.nope_dim}));
      TRY(const tensor::TensorView v,
          reader_.find(name(names_.v_up), {config_.num_heads, config.value_dim, config.kv_rank}));
      latent.k_up = reader_.as_floats(k);
      latent.v_up = reader_.as_floats(v);
      return base::ok();
    }
    return split_kv_up(latent);
  }

  // Splits each head's rows into keys, which are transposed, and values, which are copied as they are.
  base::Status split_kv_up(LatentWeights& latent) {
    const LatentConfig& config = config_.latent;
    const std::int64_t heads = config_.num_heads;
    const std::int64_t nope = config.nope_dim;
    const std::int64_t rank = config.kv_rank;
    const std::int64_t head_rows = nope + config.value_dim;
    TRY(const tensor::TensorView stored, reader_.find(name(names_.kv_up), {heads * head_rows, rank}));
    const tensor::TensorView floats = reader_.as_floats(stored);
    const std::int64_t size = tensor::bytes_of(floats.type, 1);
    std::byte* k = reader_.copy_space(heads * rank * nope * size);
    std::byte* v = reader_.copy_space(heads * config.value_dim * rank * size);
    latent.k_up = {k, floats.type, {heads, rank, nope}};
    latent.v_up = {v, floats.type, {heads, config.value_dim, rank}};
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::byte* head = floats.data + h * head_rows * rank * size;
      for (std::int64_t r = 0; r < rank; ++r) {
        for (std::int64_t d = 0; d < nope; ++d, k += size)
          std::memcpy(k, head + (d * rank + r) * size, static_cast<std::size_t>(size));
      }
      const std::int64_t value_bytes = config.value_dim * rank * size;
      std::memcpy(v, head + nope * rank * size, static_cast<std::size_t>(value_bytes));
      v += value_bytes;
    }
    return base::ok();
  }

  base::Result<FeedForwardWeights> feed_forward() {
    const std::int64_t hidden = config_.hidden_size;
    FeedForwardWeights weights;
    if (config_.norm_before()) {
      TRY(weights.norm, reader_.norm(name(names_.mlp_norm), hidden));
    }
    if (config_.norm_after()) {
      TRY(weights.post_norm, reader_.norm(name(names_.mlp_post_norm), hidden));
    }
    if (config_.layers[static_cast<std::size_t>(layer_)].sparse) {
      TRY_OK(add_mixture(weights));
    } else {
      TRY(weights.mlp, mlp());
    }
    return weights;
  }

  base::Result<MlpWeights> mlp() {
    const std::int64_t hidden = config_.hidden_size;
    const std::int64_t inner = config_.intermediate_size;
    const Bias bias = bias_if(config_.mlp_bias);
    MlpWeights mlp;
    if (!names_.gate_up.empty()) {
      TRY(mlp.gate, reader_.linear(name(names_.gate_up), {0, inner, 2 * inner}, hidden, bias));
      TRY(mlp.up, reader_.linear(name(names_.gate_up), {inner, inner, 2 * inner}, hidden, bias));
    } else {
      if (config_.gated_mlp) {
        TRY(mlp.gate, linear(names_.gate, inner, hidden, bias));
      }
      TRY(mlp.up, linear(names_.up, inner, hidden, bias));
    }
    TRY(mlp.down, linear(names_.down, hidden, inner, bias));
    return mlp;
  }

  base::Status add_mixture(FeedForwardWeights& weights) {
    const MixtureConfig& mixture = config_.mixture;
    const std::int64_t hidden = config_.hidden_size;
    TRY(weights.router, linear(names_.router, mixture.num_experts, hidden, Bias::absent));
    if (mixture.selection_bias) {
      TRY(weights.selection_bias, reader_.vector(name(names_.selection_bias), mixture.num_experts));
    }
    for (int e = 0; e < mixture.num_experts; ++e) {
      TRY(weights.experts.emplace_back(), expert(e));
    }
    if (mixture.shared_intermediate_size > 0) {
      const std::int64_t inner = mixture.shared_intermediate_size;
      TRY(weights.mlp.gate, linear(names_.shared_gate, inner, hidden, Bias::absent));
      TRY(weights.mlp.up, linear(names_.shared_up, inner, hidden, Bias::absent));
      TRY(weights.mlp.down, linear(names_.shared_down, hidden, inner, Bias::absent));
    }
    return base::ok();
  }

  base::Result<MlpWeights> expert(int index) {
    const std::int64_t hidden = config_.hidden_size;
    const std::int64_t inner = config_.mixture.intermediate_size;
    const auto part = [&](std::string_view pattern, std::int64_t rows, std::int64_t cols) {
      const std::string stored = expert_name(pattern, layer_, index);
      if (pattern.find("{1}") == std::string_view::npos)
        return reader_.stacked(stored, {config_.mixture.num_experts, rows, cols}, index);
      return reader_.linear(stored, RowRange::all(rows), cols, Bias::absent);
    };
    MlpWeights mlp;
    TRY(mlp.gate, part(names_.expert_gate, inner, hidden));
    TRY(mlp.up, part(names_.expert_up, inner, hidden));
    TRY(mlp.down, part(names_.expert_down, hidden, inner));
    return mlp;
  }

  const ModelConfig& config_;
  const TensorNames& names_;
  WeightReader reader_;
  int layer_ = 0;
};

}  // namespace

base::Result<DecoderWeights> load_weights(const Checkpoint& checkpoint, ops::Precision precision,
                                          ops::ComputePool& pool, const std::stop_token& stop) {
  // A narrow model averages rounding errors over few numbers. SmolLM2-135M (576 wide) picks another token
  // than float32 at 3.5 % of a text's positions with byte activations, and at 0.5 % with fine ones.
  // Qwen2.5-1.5B (1536 wide) does so at 0.7 % with byte activations.
  constexpr int kNarrow = 1024;
  if (precision == ops::Precision::fast && checkpoint.config.hidden_size < kNarrow)
    precision = ops::Precision::fine;
  return Loader(checkpoint, precision, pool, stop).load();
}

}  // namespace kvasir::model
