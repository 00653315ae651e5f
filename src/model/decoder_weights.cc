#include "model/decoder_weights.h"

#include <string>
#include <utility>

#include "ops/dequantize.h"

namespace kvasir::model {

using base::ErrorCode;

namespace {

// A bias is there or not, as the config says.
enum class Bias { absent, present };

Bias bias_if(bool present) {
  return present ? Bias::present : Bias::absent;
}

class Loader {
 public:
  Loader(const Checkpoint& checkpoint, ops::Precision precision, ops::ComputePool& pool)
      : checkpoint_(checkpoint), precision_(precision), pool_(pool) {}

  base::Result<DecoderWeights> load() {
    const ModelConfig& config = checkpoint_.config;
    const TensorNames& names = checkpoint_.names;
    DecoderWeights weights;
    TRY(weights.embedding, find(names.embedding, {config.vocab_size, config.hidden_size}));
    for (int layer = 0; layer < config.num_layers; ++layer) {
      TRY(weights.layers.emplace_back(), load_layer(layer));
    }
    TRY(weights.output_norm, vector(names.output_norm, config.hidden_size));
    tensor::TensorView output = weights.embedding;
    if (!config.tied_embeddings) {
      TRY(output, find(names.output, {config.vocab_size, config.hidden_size}));
    }
    TRY(weights.output, ops::Weight::prepare(output, precision_, &pool_));
    return weights;
  }

 private:
  base::Result<LayerWeights> load_layer(int index) {
    const ModelConfig& config = checkpoint_.config;
    const TensorNames& names = checkpoint_.names;
    const std::int64_t hidden = config.hidden_size;
    const std::int64_t inner = config.intermediate_size;
    const auto name = [&](std::string_view pattern) { return layer_name(pattern, index); };
    const Bias qkv = bias_if(config.qkv_bias);
    const Bias mlp = bias_if(config.mlp_bias);
    LayerWeights layer;
    TRY(layer.attention_norm, vector(name(names.attention_norm), hidden));
    TRY(layer.q, linear(name(names.q), {config.q_size(), hidden}, qkv));
    TRY(layer.k, linear(name(names.k), {config.kv_size(), hidden}, qkv));
    TRY(layer.v, linear(name(names.v), {config.kv_size(), hidden}, qkv));
    TRY(layer.attention_out,
        linear(name(names.attention_out), {hidden, config.q_size()}, bias_if(config.attention_out_bias)));
    TRY(layer.mlp_norm, vector(name(names.mlp_norm), hidden));
    TRY(layer.gate, linear(name(names.gate), {inner, hidden}, mlp));
    TRY(layer.up, linear(name(names.up), {inner, hidden}, mlp));
    TRY(layer.down, linear(name(names.down), {hidden, inner}, mlp));
    return layer;
  }

  base::Result<tensor::TensorView> find(std::string_view name, const tensor::Shape& shape) const {
    TRY(tensor::TensorView view, checkpoint_.weights->find(name));
    if (view.shape != shape)
      return base::error(ErrorCode::corrupt, "tensor {:?} has shape [{}] where the config makes it [{}]",
                         name, fmt::join(view.shape, ", "), fmt::join(shape, ", "));
    return view;
  }

  base::Result<std::vector<float>> vector(std::string_view name, std::int64_t size) const {
    TRY(const tensor::TensorView view, find(name, {size}));
    std::vector<float> values(static_cast<std::size_t>(size));
    ops::dequantize(view.type, view.data, values);
    return values;
  }

  base::Result<Linear> linear(const std::string& name, const tensor::Shape& shape, Bias bias) const {
    TRY(const tensor::TensorView view, find(name, shape));
    Linear linear;
    TRY(linear.weight, ops::Weight::prepare(view, precision_, &pool_));
    if (bias == Bias::present) {
      TRY(linear.bias, vector(bias_name(name), shape[0]));
    }
    return linear;
  }

  const Checkpoint& checkpoint_;
  ops::Precision precision_;
  ops::ComputePool& pool_;
};

}  // namespace

base::Result<DecoderWeights> load_weights(const Checkpoint& checkpoint, ops::Precision precision,
                                          ops::ComputePool& pool) {
  return Loader(checkpoint, precision, pool).load();
}

}  // namespace kvasir::model
