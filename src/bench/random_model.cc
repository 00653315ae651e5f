#include "bench/random_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bench/random_weights.h"
#include "model/arch/tensor_names.h"
#include "model/file/gguf_writer.h"
#include "text/tokenizer/byte_level.h"

namespace kvasir::bench {

using base::ErrorCode;
using tensor::DType;

namespace {

constexpr std::size_t kPieceBytes = std::size_t{4} << 20;  // rounded down to whole blocks

enum class Fill { random, ones };

struct TensorPlan {
  std::string name;
  DType type = DType::f32;
  tensor::Shape shape;
  Fill fill = Fill::random;
};

// Q4_K_M uses more bits for the first and last eighth of the layers and for every third layer between them.
bool wants_more_bits(int layer, int num_layers) {
  return layer < num_layers / 8 || layer >= 7 * num_layers / 8 || (layer - num_layers / 8) % 3 == 2;
}

class Planner {
 public:
  Planner(const model::ModelConfig& config, const WeightTypes& types) : config_(config), types_(types) {}

  std::vector<TensorPlan> plan() {
    const model::TensorNames& names = model::kGgufNames;
    const DType head = types_.mixed ? DType::q6_k : types_.type;
    matrix(std::string(names.embedding), config_.tied_embeddings ? head : types_.type, config_.vocab_size,
           config_.hidden_size);
    for (int layer = 0; layer < config_.num_layers; ++layer) plan_layer(layer);
    vector(std::string(names.output_norm), config_.hidden_size, Fill::ones);
    if (!config_.tied_embeddings)
      matrix(std::string(names.output), head, config_.vocab_size, config_.hidden_size);
    return std::move(tensors_);
  }

 private:
  void plan_layer(int layer) {
    const model::TensorNames& names = model::kGgufNames;
    const auto name = [&](std::string_view pattern) { return model::layer_name(pattern, layer); };
    const DType more = types_.mixed && wants_more_bits(layer, config_.num_layers) ? DType::q6_k : types_.type;
    const int hidden = config_.hidden_size;
    vector(name(names.attention_norm), hidden, Fill::ones);
    linear(name(names.q), types_.type, config_.q_size(), hidden);
    linear(name(names.k), types_.type, config_.kv_size(), hidden);
    linear(name(names.v), more, config_.kv_size(), hidden);
    matrix(name(names.attention_out), types_.type, hidden, config_.q_size());
    vector(name(names.mlp_norm), hidden, Fill::ones);
    matrix(name(names.gate), types_.type, config_.intermediate_size, hidden);
    matrix(name(names.up), types_.type, config_.intermediate_size, hidden);
    matrix(name(names.down), more, hidden, config_.intermediate_size);
  }

  void matrix(std::string name, DType type, std::int64_t rows, std::int64_t cols) {
    tensors_.push_back({std::move(name), type, {rows, cols}, Fill::random});
  }
  void vector(std::string name, std::int64_t size, Fill fill) {
    tensors_.push_back({std::move(name), DType::f32, {size}, fill});
  }
  void linear(std::string name, DType type, std::int64_t rows, std::int64_t cols) {
    const std::string bias = model::bias_name(name);
    matrix(std::move(name), type, rows, cols);
    if (config_.qkv_bias) vector(bias, rows, Fill::random);
  }

  const model::ModelConfig& config_;
  const WeightTypes& types_;
  std::vector<TensorPlan> tensors_;
};

// Adds every byte, all pairs of small letters (so that there are merges), made-up words, and one end token.
void add_vocabulary(model::GgufWriter& writer, int size) {
  constexpr std::int32_t kNormal = 1;
  constexpr std::int32_t kControl = 3;
  std::vector<std::string> tokens;
  std::vector<std::string> merges;
  for (int byte = 0; byte < 256; ++byte)
    tokens.push_back(text::spelling_of_byte(static_cast<unsigned char>(byte)));
  for (char a = 'a'; a <= 'z'; ++a)
    for (char b = 'a'; b <= 'z' && std::ssize(tokens) < size - 1; ++b) {
      tokens.push_back({a, b});
      merges.push_back({a, ' ', b});
    }
  for (int i = 0; std::ssize(tokens) < size - 1; ++i)
    tokens.push_back(fmt::format("{}w{}", text::spelling_of_byte(' '), i));
  std::vector<std::int32_t> types(tokens.size(), kNormal);
  tokens.emplace_back("<|end|>");
  types.push_back(kControl);
  const auto end = static_cast<std::uint32_t>(size - 1);
  writer.key("tokenizer.ggml.model", "gpt2");
  writer.key("tokenizer.ggml.pre", "gpt-2");
  writer.key("tokenizer.ggml.tokens", std::span<const std::string>(tokens));
  writer.key("tokenizer.ggml.token_type", std::span<const std::int32_t>(types));
  writer.key("tokenizer.ggml.merges", std::span<const std::string>(merges));
  writer.key("tokenizer.ggml.bos_token_id", end);
  writer.key("tokenizer.ggml.eos_token_id", end);
  writer.key_bool("tokenizer.ggml.add_bos_token", false);
}

void add_keys(model::GgufWriter& writer, const ModelShape& shape, const WeightTypes& types) {
  const model::ModelConfig& c = shape.config;
  const auto key = [&](std::string_view name, int value) {
    writer.key(fmt::format("{}.{}", c.architecture, name), static_cast<std::uint32_t>(value));
  };
  writer.key("general.architecture", c.architecture);
  writer.key("general.name", fmt::format("{} {} random", shape.name, types.name));
  key("vocab_size", c.vocab_size);
  key("block_count", c.num_layers);
  key("context_length", c.context_length);
  key("embedding_length", c.hidden_size);
  key("feed_forward_length", c.intermediate_size);
  key("attention.head_count", c.num_heads);
  key("attention.head_count_kv", c.num_kv_heads);
  key("attention.key_length", c.head_dim);
  key("attention.value_length", c.head_dim);
  key("rope.dimension_count", c.head_dim);
  writer.key(fmt::format("{}.rope.freq_base", c.architecture), static_cast<float>(c.rope.theta));
  writer.key(fmt::format("{}.attention.layer_norm_rms_epsilon", c.architecture), c.norm_eps);
  add_vocabulary(writer, c.vocab_size);
}

base::Status check_types(const std::vector<TensorPlan>& tensors, const ModelShape& shape) {
  for (const TensorPlan& tensor : tensors) {
    TRY_OK(check_random_type(tensor.type));
    const tensor::DTypeInfo& info = tensor::info(tensor.type);
    if (tensor.shape.back() % info.block_elems != 0)
      return base::error(ErrorCode::invalid_argument, "{} holds {} numbers a block, and {} has rows of {}",
                         info.name, info.block_elems, shape.name, tensor.shape.back());
  }
  return base::ok();
}

base::Status write_tensor(model::GgufWriter& writer, const TensorPlan& tensor, Random& random) {
  std::int64_t num_elems = 1;
  for (const std::int64_t dim : tensor.shape) num_elems *= dim;
  if (tensor.fill == Fill::ones) {
    const std::vector<float> ones(static_cast<std::size_t>(num_elems), 1.0f);
    return writer.write(std::as_bytes(std::span(ones)));
  }
  const auto block_bytes = static_cast<std::size_t>(tensor::info(tensor.type).block_bytes);
  auto left = static_cast<std::size_t>(tensor::bytes_of(tensor.type, num_elems));
  std::vector<std::byte> piece;
  while (left > 0) {
    piece.resize(std::min(left, kPieceBytes / block_bytes * block_bytes));
    fill_random(tensor.type, random, piece);
    TRY_OK(writer.write(piece));
    left -= piece.size();
  }
  return base::ok();
}

}  // namespace

base::Status write_random_model(const std::filesystem::path& path, const ModelShape& shape,
                                const WeightTypes& types, std::uint64_t seed,
                                const std::function<void(double)>& on_progress) {
  const std::vector<TensorPlan> tensors = Planner(shape.config, types).plan();
  TRY_OK(check_types(tensors, shape));
  TRY(model::GgufWriter writer, model::GgufWriter::create(path));
  add_keys(writer, shape, types);
  for (const TensorPlan& tensor : tensors) writer.declare(tensor.name, tensor.type, tensor.shape);
  TRY_OK(writer.begin());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Random random(seed, i);
    TRY_OK(write_tensor(writer, tensors[i], random));
    on_progress(static_cast<double>(i + 1) / static_cast<double>(tensors.size()));
  }
  return writer.finish();
}

}  // namespace kvasir::bench
