#include "model/encoder/encoder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/arch/tensor_names.h"
#include "model/checkpoint/weight_reader.h"
#include "ops/elementwise.h"
#include "ops/embed.h"
#include "ops/kv_cache.h"
#include "ops/layer_norm.h"
#include "ops/matmul.h"
#include "ops/paged_attention.h"
#include "tensor/row_buffer.h"

namespace kvasir::model {

namespace {

struct EncoderLayer {
  Linear q;
  Linear k;
  Linear v;
  Linear attention_out;
  Norm attention_norm;
  Linear up;
  Linear down;
  Norm mlp_norm;
};

struct EncoderWeights {
  tensor::TensorView embedding;    // [vocab, hidden]
  tensor::TensorView positions;    // [positions, hidden]
  tensor::TensorView token_types;  // [types, hidden]
  Norm embedding_norm;
  std::vector<EncoderLayer> layers;
};

base::Result<EncoderLayer> load_layer(const EncoderNames& names, const EncoderConfig& config, int index,
                                      WeightReader& reader) {
  const std::int64_t hidden = config.hidden_size;
  const std::int64_t inner = config.intermediate_size;
  const auto linear = [&](std::string_view pattern, std::int64_t rows, std::int64_t cols) {
    return reader.linear(layer_name(pattern, index), RowRange::all(rows), cols, Bias::present);
  };
  EncoderLayer layer;
  TRY(layer.q, linear(names.q, hidden, hidden));
  TRY(layer.k, linear(names.k, hidden, hidden));
  TRY(layer.v, linear(names.v, hidden, hidden));
  TRY(layer.attention_out, linear(names.attention_out, hidden, hidden));
  TRY(layer.attention_norm, reader.norm(layer_name(names.attention_norm, index), hidden));
  TRY(layer.up, linear(names.up, inner, hidden));
  TRY(layer.down, linear(names.down, hidden, inner));
  TRY(layer.mlp_norm, reader.norm(layer_name(names.mlp_norm, index), hidden));
  return layer;
}

base::Result<EncoderWeights> load_weights(const EncoderCheckpoint& checkpoint, ops::Precision precision,
                                          ops::ComputePool& pool) {
  const EncoderNames& names = checkpoint.names;
  const EncoderConfig& config = checkpoint.config;
  WeightReader reader(*checkpoint.weights,
                      {.precision = precision,
                       .norm = NormKind::layer,
                       .prefix = used_prefix(*checkpoint.weights, names.optional_prefix, names.embedding)},
                      pool);
  EncoderWeights weights;
  TRY(weights.embedding, reader.find(names.embedding, {config.vocab_size, config.hidden_size}));
  TRY(weights.positions, reader.find(names.positions, {config.num_positions, config.hidden_size}));
  TRY(weights.token_types, reader.find(names.token_types, {config.num_token_types, config.hidden_size}));
  TRY(weights.embedding_norm, reader.norm(names.embedding_norm, config.hidden_size));
  for (int i = 0; i < config.num_layers; ++i) {
    TRY(weights.layers.emplace_back(), load_layer(names, config, i, reader));
  }
  return weights;
}

// How many rows are computed together. These are enough for matrix products to reach full speed.
constexpr std::size_t kRowsTogether = 1024;

}  // namespace

struct Encoder::State {
  State(EncoderCheckpoint opened, EncoderWeights loaded, ops::ComputePool& pool)
      : checkpoint(std::move(opened)), weights(std::move(loaded)), context(pool) {}

  void run(std::span<const std::vector<TokenId>> sequences, float* out);
  void begin(std::span<const std::vector<TokenId>> sequences);
  void make_blocks(std::span<const std::vector<TokenId>> sequences);
  void run_layer(const EncoderLayer& layer);
  void pool_rows(const ops::KvSlice& slice, std::span<float> out) const;

  void apply(const Linear& linear, std::span<const float> x, std::span<float> y) {
    ops::matmul(context, x, linear.weight, linear.bias, y);
  }
  // hidden = norm(hidden + branch)
  void add_branch(const Norm& norm) {
    ops::add(context, branch, hidden);
    ops::layer_norm(context, hidden, {norm.weight, norm.bias, checkpoint.config.norm_eps}, hidden);
  }

  EncoderCheckpoint checkpoint;
  EncoderWeights weights;
  ops::Context context;
  std::size_t num_rows = 0;
  std::vector<TokenId> tokens;
  std::vector<std::int32_t> positions;
  std::vector<std::int32_t> blocks;
  std::vector<ops::KvSlice> slices;
  ops::KvLayer kv;  // holds one layer at a time
  tensor::Buffer kv_memory;
  std::span<float> hidden;  // [rows, hidden]
  std::span<float> branch;  // [rows, hidden]
  struct {
    tensor::RowBuffer hidden, branch, q, k, v, attention, inner;
  } buffers;
};

void Encoder::State::make_blocks(std::span<const std::vector<TokenId>> sequences) {
  const auto num_blocks = [](std::size_t tokens_of) {
    return (tokens_of + ops::kBlockTokens - 1) / ops::kBlockTokens;
  };
  std::size_t total = 0;
  for (const auto& sequence : sequences) total += num_blocks(sequence.size());
  blocks.resize(total);
  for (std::size_t i = 0; i < total; ++i) blocks[i] = static_cast<std::int32_t>(i);
  slices.clear();
  std::size_t first_block = 0;
  int first_row = 0;
  for (const auto& sequence : sequences) {
    const std::size_t count = num_blocks(sequence.size());
    const int rows = static_cast<int>(sequence.size());
    slices.push_back({first_row, rows, 0, std::span(blocks).subspan(first_block, count)});
    first_block += count;
    first_row += rows;
  }
  const EncoderConfig& config = checkpoint.config;
  kv = {.type = ops::KvType::f32, .num_kv_heads = config.num_heads, .head_dim = config.head_dim()};
  const std::size_t bytes = total * static_cast<std::size_t>(kv.block_bytes());
  if (kv_memory.size() < 2 * bytes) kv_memory = tensor::Buffer(2 * bytes);
  kv.k = kv_memory.data();
  kv.v = kv_memory.data() + bytes;
}

void Encoder::State::begin(std::span<const std::vector<TokenId>> sequences) {
  tokens.clear();
  positions.clear();
  for (const auto& sequence : sequences) {
    tokens.insert(tokens.end(), sequence.begin(), sequence.end());
    for (std::size_t i = 0; i < sequence.size(); ++i) positions.push_back(static_cast<std::int32_t>(i));
  }
  num_rows = tokens.size();
  make_blocks(sequences);

  const EncoderConfig& config = checkpoint.config;
  hidden = buffers.hidden.take(num_rows, config.hidden_size);
  branch = buffers.branch.take(num_rows, config.hidden_size);
  ops::embed(context, weights.embedding, tokens, hidden);
  ops::embed(context, weights.positions, positions, branch);
  ops::add(context, branch, hidden);
  const std::vector<std::int32_t> types(num_rows, 0);  // all tokens of a single text are of the first type
  ops::embed(context, weights.token_types, types, branch);
  add_branch(weights.embedding_norm);
}

void Encoder::State::run_layer(const EncoderLayer& layer) {
  const EncoderConfig& config = checkpoint.config;
  const std::span<float> q = buffers.q.take(num_rows, config.hidden_size);
  const std::span<float> k = buffers.k.take(num_rows, config.hidden_size);
  const std::span<float> v = buffers.v.take(num_rows, config.hidden_size);
  const std::span<float> attention = buffers.attention.take(num_rows, config.hidden_size);
  apply(layer.q, hidden, q);
  apply(layer.k, hidden, k);
  apply(layer.v, hidden, v);
  ops::store_kv(context, kv, slices, k, v);
  ops::paged_attention(context, {.layer = kv,
                                 .slices = slices,
                                 .q = q,
                                 .out = attention,
                                 .num_heads = config.num_heads,
                                 .scale = 1.0f / std::sqrt(static_cast<float>(config.head_dim())),
                                 .mask = ops::Mask::none});
  apply(layer.attention_out, attention, branch);
  add_branch(layer.attention_norm);

  const std::span<float> inner = buffers.inner.take(num_rows, config.intermediate_size);
  apply(layer.up, hidden, inner);
  ops::activate(context, config.activation, inner, {}, inner);
  apply(layer.down, inner, branch);
  add_branch(layer.mlp_norm);
}

void Encoder::State::pool_rows(const ops::KvSlice& slice, std::span<float> out) const {
  const std::size_t dim = out.size();
  const int count = checkpoint.config.pooling == Pooling::mean ? slice.num_rows : 1;
  std::vector<double> sum(dim, 0.0);
  for (int r = 0; r < count; ++r) {
    const float* row = hidden.data() + static_cast<std::size_t>(slice.first_row + r) * dim;
    for (std::size_t d = 0; d < dim; ++d) sum[d] += row[d];
  }
  double squares = 0;
  for (const double x : sum) squares += x * x;
  // The sum need not be divided by the number of rows, because the vector is scaled to length 1 anyway.
  const double factor = squares > 0 ? 1 / std::sqrt(squares) : 0;
  for (std::size_t d = 0; d < dim; ++d) out[d] = static_cast<float>(sum[d] * factor);
}

void Encoder::State::run(std::span<const std::vector<TokenId>> sequences, float* out) {
  begin(sequences);
  for (const EncoderLayer& layer : weights.layers) run_layer(layer);
  const auto dim = static_cast<std::size_t>(checkpoint.config.hidden_size);
  for (std::size_t i = 0; i < slices.size(); ++i) pool_rows(slices[i], {out + i * dim, dim});
}

Encoder::Encoder(std::unique_ptr<State> state) : state_(std::move(state)) {}

Encoder::~Encoder() = default;

base::Result<std::unique_ptr<Encoder>> Encoder::load(EncoderCheckpoint checkpoint, EncoderOptions options,
                                                     ops::ComputePool& pool) {
  TRY(EncoderWeights weights, load_weights(checkpoint, options.precision, pool));
  auto state = std::make_unique<State>(std::move(checkpoint), std::move(weights), pool);
  return std::unique_ptr<Encoder>(new Encoder(std::move(state)));
}

const EncoderConfig& Encoder::config() const {
  return state_->checkpoint.config;
}

base::Result<std::vector<float>> Encoder::encode(std::span<const std::vector<TokenId>> sequences) {
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const std::vector<TokenId>& sequence = sequences[i];
    if (sequence.empty() || sequence.size() > static_cast<std::size_t>(config().context_length))
      return base::error(base::ErrorCode::invalid_argument, "text {} has {} tokens, not 1 to {}", i,
                         sequence.size(), config().context_length);
    for (const TokenId token : sequence) {
      if (token < 0 || token >= config().vocab_size)
        return base::error(base::ErrorCode::invalid_argument, "token {} of a vocabulary of {}", token,
                           config().vocab_size);
    }
  }
  const auto dim = static_cast<std::size_t>(config().hidden_size);
  std::vector<float> out(sequences.size() * dim);
  for (std::size_t first = 0; first < sequences.size();) {
    std::size_t count = 0;
    for (std::size_t rows = 0; first + count < sequences.size(); ++count) {
      rows += sequences[first + count].size();
      if (count > 0 && rows > kRowsTogether) break;
    }
    state_->run(sequences.subspan(first, count), out.data() + first * dim);
    first += count;
  }
  return out;
}

}  // namespace kvasir::model
