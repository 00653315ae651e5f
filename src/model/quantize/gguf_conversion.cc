#include "model/quantize/gguf_conversion.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "model/arch/architecture.h"
#include "model/checkpoint/weight_reader.h"
#include "model/quantize/gguf_tokenizer.h"
#include "model/tokenizer/tokenizer_file.h"
#include "ops/quant/dequantize.h"

namespace kvasir::model {

using base::ErrorCode;

namespace {

using Part = std::string_view TensorNames::*;

constexpr Part kWholeParts[] = {&TensorNames::embedding, &TensorNames::positions, &TensorNames::output_norm,
                                &TensorNames::output};
constexpr Part kLayerParts[] = {
    &TensorNames::attention_norm,
    &TensorNames::attention_post_norm,
    &TensorNames::q,
    &TensorNames::k,
    &TensorNames::v,
    &TensorNames::qkv,
    &TensorNames::q_norm,
    &TensorNames::k_norm,
    &TensorNames::attention_out,
    &TensorNames::mlp_norm,
    &TensorNames::mlp_post_norm,
    &TensorNames::gate,
    &TensorNames::up,
    &TensorNames::gate_up,
    &TensorNames::down,
    &TensorNames::router,
    &TensorNames::expert_gate,
    &TensorNames::expert_up,
    &TensorNames::expert_down,
    &TensorNames::shared_gate,
    &TensorNames::shared_up,
    &TensorNames::shared_down,
};

bool is_norm(Part part) {
  return part == &TensorNames::output_norm || part == &TensorNames::attention_norm ||
         part == &TensorNames::attention_post_norm || part == &TensorNames::mlp_norm ||
         part == &TensorNames::mlp_post_norm || part == &TensorNames::q_norm || part == &TensorNames::k_norm;
}

// Mistral and Mixtral have no name of their own in GGUF, which calls them llama.
base::Result<const Architecture*> find_architecture(const Checkpoint& checkpoint) {
  const std::string_view type = checkpoint.config_json.at("model_type").as_string();
  for (const Architecture* architecture : architectures()) {
    if (architecture->hugging_face.name == type)
      return architecture->gguf.name.empty() ? &kLlama : architecture;
  }
  return base::error(ErrorCode::unsupported, "{:?} has no GGUF form", type);
}

// Returns whether GGUF reorders the family's Q and K rows, so that the two numbers of a rotated pair are
// neighbours.
bool pairs_rows(std::string_view architecture) {
  return architecture == "llama" || architecture == "granite" || architecture == "smollm3";
}

base::Status check_convertible(const Checkpoint& checkpoint) {
  const ModelConfig& config = checkpoint.config;
  if (config.is_latent())
    return base::error(ErrorCode::unsupported, "latent attention cannot be converted to GGUF yet");
  if (checkpoint.packing.format != PackedFormat::none)
    return base::error(ErrorCode::unsupported,
                       "the weights are packed already; quantize reads f32, f16 and bf16");
  if (!config.rope.freq_divisors.empty())
    return base::error(ErrorCode::unsupported, "longrope cannot be converted to GGUF yet");
  return base::ok();
}

class TensorCollector {
 public:
  TensorCollector(const Checkpoint& checkpoint, const Architecture& architecture)
      : checkpoint_(checkpoint),
        gguf_(architecture.gguf.names),
        pairs_rows_(pairs_rows(architecture.gguf.name)),
        prefix_(
            used_prefix(*checkpoint.weights, checkpoint.names.optional_prefix, checkpoint.names.embedding)) {}

  base::Result<std::vector<GgufTensor>> collect() {
    for (const Part part : kWholeParts) {
      if (part == &TensorNames::output && checkpoint_.config.tied_embeddings) continue;
      TRY_OK(add(part, std::string(checkpoint_.names.*part), std::string(gguf_.*part)));
    }
    for (int layer = 0; layer < checkpoint_.config.num_layers; ++layer) {
      for (const Part part : kLayerParts) TRY_OK(add_layer_part(part, layer));
    }
    add_rope_divisors();
    return std::move(tensors_);
  }

 private:
  // Some families have the same tensor name for two parts, but use only one of them.
  bool is_used(Part part) const {
    const ModelConfig& config = checkpoint_.config;
    if (part == &TensorNames::attention_norm || part == &TensorNames::mlp_norm) return config.norm_before();
    if (part == &TensorNames::attention_post_norm || part == &TensorNames::mlp_post_norm)
      return config.norm_after();
    return true;
  }

  base::Status add_layer_part(Part part, int layer) {
    const std::string_view from = checkpoint_.names.*part;
    const std::string_view to = gguf_.*part;
    if (from.empty() || to.empty() || !is_used(part)) return base::ok();
    if (from.find("{1}") != std::string_view::npos) return add_experts(from, layer_name(to, layer), layer);
    return add(part, layer_name(from, layer), layer_name(to, layer));
  }

  // Adds a tensor and its bias, each if the checkpoint has it.
  base::Status add(Part part, const std::string& from, const std::string& to) {
    if (from.empty() || to.empty()) return base::ok();
    TRY_OK(add_tensor(part, from, to));
    return add_tensor(part, bias_name(from), bias_name(to));
  }

  base::Status add_tensor(Part part, const std::string& from, const std::string& to) {
    if (!checkpoint_.weights->contains(prefix_ + from)) return base::ok();
    TRY(tensor::TensorView view, checkpoint_.weights->find(prefix_ + from));
    if (view.shape.empty() || view.shape.size() > 2)
      return base::error(ErrorCode::corrupt, "{} has {} dimensions", from, view.shape.size());
    GgufTensor tensor = {.name = to, .shape = view.shape};
    const ModelConfig& config = checkpoint_.config;
    const bool in_layer = std::ranges::find(kLayerParts, part) != std::end(kLayerParts);
    if (pairs_rows_ && part == &TensorNames::q) tensor.paired_heads = config.num_heads;
    if (pairs_rows_ && part == &TensorNames::k) tensor.paired_heads = config.num_kv_heads;
    if (tensor.paired_heads > 0 && view.shape[0] % (2 * tensor.paired_heads) != 0)
      return base::error(ErrorCode::corrupt, "{} has {} rows for {} heads", from, view.shape[0],
                         tensor.paired_heads);
    if (is_norm(part)) tensor.offset = checkpoint_.names.norm_offset;
    if (in_layer && checkpoint_.names.transposed && view.shape.size() == 2) {
      tensor.transposed = true;
      std::swap(tensor.shape[0], tensor.shape[1]);
    }
    tensor.pieces.push_back(std::move(view));
    tensors_.push_back(std::move(tensor));
    return base::ok();
  }

  base::Status add_experts(std::string_view pattern, const std::string& to, int layer) {
    const int num_experts = checkpoint_.config.mixture.num_experts;
    if (!checkpoint_.weights->contains(prefix_ + expert_name(pattern, layer, 0))) return base::ok();
    GgufTensor tensor = {.name = to};
    for (int i = 0; i < num_experts; ++i) {
      const std::string name = prefix_ + expert_name(pattern, layer, i);
      TRY(tensor::TensorView view, checkpoint_.weights->find(name));
      const tensor::TensorView& first = tensor.pieces.empty() ? view : tensor.pieces.front();
      if (view.shape.size() != 2 || view.shape != first.shape || view.type != first.type)
        return base::error(ErrorCode::corrupt, "{} differs from the first expert's", name);
      tensor.pieces.push_back(std::move(view));
    }
    const tensor::Shape& one = tensor.pieces.front().shape;
    tensor.shape = {num_experts, one[0], one[1]};
    tensors_.push_back(std::move(tensor));
    return base::ok();
  }

  // GGUF has no keys for Llama 3's scaling. It becomes a tensor of divisors.
  void add_rope_divisors() {
    const RopeConfig& rope = checkpoint_.config.rope;
    if (rope.scaling != RopeScaling::llama3) return;
    RopeConfig plain = rope;
    plain.scaling = RopeScaling::none;
    const std::vector<float> from = frequencies(plain).inverse_frequencies;
    const std::vector<float> to = frequencies(rope).inverse_frequencies;
    GgufTensor tensor = {.name = "rope_freqs.weight", .shape = {static_cast<std::int64_t>(from.size())}};
    for (std::size_t i = 0; i < from.size(); ++i) tensor.computed.push_back(from[i] / to[i]);
    tensors_.push_back(std::move(tensor));
  }

  const Checkpoint& checkpoint_;
  const TensorNames& gguf_;
  const bool pairs_rows_;
  const std::string prefix_;
  std::vector<GgufTensor> tensors_;
};

// Writes the keys of a config, with the architecture's name as their prefix.
class ConfigKeys {
 public:
  ConfigKeys(std::string_view architecture, GgufWriter& writer) : prefix_(architecture), writer_(writer) {}

  void write(const ModelConfig& config) {
    integer("vocab_size", config.vocab_size);
    integer("block_count", config.num_layers);
    integer("context_length", config.context_length);
    integer("embedding_length", config.hidden_size);
    integer("feed_forward_length", config.intermediate_size);
    integer("attention.head_count", config.num_heads);
    integer("attention.head_count_kv", config.num_kv_heads);
    integer("attention.key_length", config.head_dim);
    integer("attention.value_length", config.head_dim);
    number(config.norm == NormKind::rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon",
           config.norm_eps);
    if (config.attention_softcap > 0) number("attn_logit_softcapping", config.attention_softcap);
    if (config.logit_softcap > 0) number("final_logit_softcapping", config.logit_softcap);
    int window = 0;
    for (const LayerConfig& layer : config.layers) window = std::max(window, layer.sliding_window);
    if (window > 0) integer("attention.sliding_window", window);
    if (!config.learned_positions) write_rope(config);
    if (config.mixture.num_experts > 0) write_mixture(config.mixture);
    if (prefix_ == "granite") write_granite(config);
  }

 private:
  void integer(std::string_view key, int value) {
    writer_.key(fmt::format("{}.{}", prefix_, key), static_cast<std::uint32_t>(value));
  }
  void number(std::string_view key, double value) {
    writer_.key(fmt::format("{}.{}", prefix_, key), static_cast<float>(value));
  }
  void text(std::string_view key, std::string_view value) {
    writer_.key(fmt::format("{}.{}", prefix_, key), value);
  }

  void write_rope(const ModelConfig& config) {
    const RopeConfig& rope = config.rope;
    integer("rope.dimension_count", rope.dim);
    number("rope.freq_base", rope.theta);
    for (const LayerConfig& layer : config.layers) {
      if (layer.rope != RopeUse::local) continue;
      number("rope.freq_base_swa", config.local_rope.theta);
      break;
    }
    if (rope.scaling == RopeScaling::linear) {
      text("rope.scaling.type", "linear");
      number("rope.scaling.factor", rope.factor);
    } else if (rope.scaling == RopeScaling::yarn) {
      text("rope.scaling.type", "yarn");
      number("rope.scaling.factor", rope.factor);
      integer("rope.scaling.original_context_length", static_cast<int>(rope.original_context));
      number("rope.scaling.yarn_beta_fast", rope.beta_fast);
      number("rope.scaling.yarn_beta_slow", rope.beta_slow);
      // A reader multiplies this number by the factor that follows from the scaling.
      const double usual = rope.factor > 1 ? 0.1 * std::log(rope.factor) + 1 : 1;
      number("rope.scaling.attn_factor", frequencies(rope).attention_factor / usual);
    }
  }

  void write_mixture(const MixtureConfig& mixture) {
    integer("expert_count", mixture.num_experts);
    integer("expert_used_count", mixture.num_used);
    integer("expert_feed_forward_length", mixture.intermediate_size);
    if (mixture.shared_intermediate_size > 0)
      integer("expert_shared_feed_forward_length", mixture.shared_intermediate_size);
    writer_.key_bool(fmt::format("{}.expert_weights_norm", prefix_), mixture.renormalize);
  }

  void write_granite(const ModelConfig& config) {
    number("embedding_scale", config.embedding_scale);
    number("attention.scale", config.attention_scale);
    number("residual_scale", config.residual_scale);
    number("logit_scale", 1 / config.logit_scale);
  }

  const std::string prefix_;
  GgufWriter& writer_;
};

}  // namespace

std::int64_t GgufTensor::stored_bytes() const {
  std::int64_t bytes = static_cast<std::int64_t>(computed.size() * sizeof(float));
  for (const tensor::TensorView& piece : pieces) bytes += piece.bytes();
  return bytes;
}

void GgufTensor::read_row(std::int64_t row, std::span<float> out) const {
  if (!computed.empty()) {
    std::copy_n(computed.begin(), out.size(), out.begin());
    return;
  }
  const tensor::TensorView& first = pieces.front();
  // This is called for floats only, because one number of a quantised type has no size in bytes.
  const auto elem_bytes = [&] { return tensor::bytes_of(first.type, 1); };
  if (transposed) {
    const std::int64_t stride = first.cols() * elem_bytes();
    for (std::size_t i = 0; i < out.size(); ++i)
      ops::dequantize(first.type, first.data + static_cast<std::int64_t>(i) * stride + row * elem_bytes(),
                      out.subspan(i, 1));
  } else {
    // A bias is one row. Its numbers are in the order of the matrix's rows.
    const bool is_vector = shape.size() < 2;
    const std::int64_t dim = paired_heads > 0 ? shape[0] / paired_heads : 1;
    const auto source = [&](std::int64_t i) {
      return paired_heads == 0 ? i : i - i % dim + i % dim % 2 * (dim / 2) + i % dim / 2;
    };
    const std::int64_t from = is_vector ? 0 : source(row);
    const tensor::TensorView& piece = pieces[static_cast<std::size_t>(from / first.rows())];
    const std::byte* data = piece.data + from % first.rows() * tensor::bytes_of(first.type, cols());
    if (is_vector && paired_heads > 0) {
      for (std::size_t i = 0; i < out.size(); ++i)
        ops::dequantize(first.type, data + source(static_cast<std::int64_t>(i)) * elem_bytes(),
                        out.subspan(i, 1));
    } else {
      ops::dequantize(first.type, data, out);
    }
  }
  if (offset != 0)
    for (float& value : out) value += offset;
}

base::Result<std::vector<GgufTensor>> gguf_tensors(const Checkpoint& checkpoint) {
  TRY_OK(check_convertible(checkpoint));
  TRY(const Architecture* architecture, find_architecture(checkpoint));
  return TensorCollector(checkpoint, *architecture).collect();
}

base::Status write_gguf_keys(const Checkpoint& checkpoint, const std::filesystem::path& directory,
                             GgufWriter& writer) {
  TRY(const Architecture* architecture, find_architecture(checkpoint));
  writer.key("general.architecture", architecture->gguf.name);
  writer.key("general.type", "model");
  writer.key("general.name", model_name(directory, checkpoint.weights->metadata()));
  ConfigKeys(architecture->gguf.name, writer).write(checkpoint.config);
  return write_gguf_tokenizer(directory, checkpoint.config.vocab_size, writer);
}

}  // namespace kvasir::model
