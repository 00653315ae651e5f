#include "model/decoder.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/check.h"
#include "model/decoder_weights.h"
#include "ops/elementwise.h"
#include "ops/embed.h"
#include "ops/matmul.h"
#include "ops/paged_attention.h"
#include "ops/rms_norm.h"
#include "ops/rope.h"

namespace kvasir::model {

namespace {

// Activations of a step. Each buffer grows to the largest step and stays.
class Activations {
 public:
  void resize(const ModelConfig& config, std::size_t rows, std::size_t logit_rows) {
    hidden = grow(hidden_, rows * static_cast<std::size_t>(config.hidden_size));
    normed = grow(normed_, rows * static_cast<std::size_t>(config.hidden_size));
    branch = grow(branch_, rows * static_cast<std::size_t>(config.hidden_size));
    q = grow(q_, rows * static_cast<std::size_t>(config.q_size()));
    k = grow(k_, rows * static_cast<std::size_t>(config.kv_size()));
    v = grow(v_, rows * static_cast<std::size_t>(config.kv_size()));
    attention = grow(attention_, rows * static_cast<std::size_t>(config.q_size()));
    gate = grow(gate_, rows * static_cast<std::size_t>(config.intermediate_size));
    up = grow(up_, rows * static_cast<std::size_t>(config.intermediate_size));
    last = grow(last_, logit_rows * static_cast<std::size_t>(config.hidden_size));
  }

  std::span<float> hidden;     // [rows, hidden]
  std::span<float> normed;     // [rows, hidden]
  std::span<float> branch;     // [rows, hidden]: what a half layer adds
  std::span<float> q;          // [rows, heads, head_dim]
  std::span<float> k;          // [rows, kv_heads, head_dim]
  std::span<float> v;          // [rows, kv_heads, head_dim]
  std::span<float> attention;  // [rows, heads, head_dim]
  std::span<float> gate;       // [rows, intermediate]
  std::span<float> up;         // [rows, intermediate]
  std::span<float> last;       // [logit_rows, hidden]

 private:
  static std::span<float> grow(std::vector<float>& buffer, std::size_t size) {
    if (buffer.size() < size) buffer.resize(size);
    return {buffer.data(), size};
  }

  std::vector<float> hidden_, normed_, branch_, q_, k_, v_, attention_, gate_, up_, last_;
};

ops::RopeTable make_rope_table(const RopeConfig& rope) {
  RopeFrequencies table = frequencies(rope);
  return ops::RopeTable(rope.style, std::move(table.inverse_frequencies), table.attention_factor);
}

}  // namespace

struct Decoder::State {
  State(Checkpoint opened, DecoderWeights loaded, ops::ComputePool& pool)
      : checkpoint(std::move(opened)),
        weights(std::move(loaded)),
        context(pool),
        rope_table(make_rope_table(checkpoint.config.rope)) {}

  const ModelConfig& config() const { return checkpoint.config; }

  void begin(const StepBatch& batch, const KvCache& kv);
  void attend(const LayerWeights& layer, const ops::KvLayer& kv);
  void feed_forward(const LayerWeights& layer);
  void head(const StepBatch& batch, std::span<float> logits);

  void apply(const Linear& linear, std::span<const float> x, std::span<float> y) {
    ops::matmul(context, x, linear.weight, linear.bias, y);
  }

  Checkpoint checkpoint;
  DecoderWeights weights;
  ops::Context context;
  ops::RopeTable rope_table;
  Activations act;
  std::vector<ops::KvSlice> slices;
  std::vector<std::int32_t> positions;
};

// Takes the batch apart and checks the caller's promise: a wrong block would be another sequence's memory.
void Decoder::State::begin(const StepBatch& batch, const KvCache& kv) {
  slices.clear();
  positions.clear();
  for (const StepBatch::Slice& slice : batch.slices) {
    CHECK(slice.first_row == static_cast<int>(positions.size()) && slice.num_rows > 0, "rows have gaps");
    const int num_tokens = slice.num_computed + slice.num_rows;
    CHECK(static_cast<int>(slice.blocks.size()) * ops::kBlockTokens >= num_tokens, "{} blocks for {} tokens",
          slice.blocks.size(), num_tokens);
    for (const std::int32_t block : slice.blocks)
      CHECK(block >= 0 && block < kv.num_blocks(), "block {} of {}", block, kv.num_blocks());
    slices.push_back({slice.first_row, slice.num_rows, slice.num_computed, slice.blocks});
    for (int row = 0; row < slice.num_rows; ++row) positions.push_back(slice.num_computed + row);
  }
  CHECK(positions.size() == batch.tokens.size(), "{} rows for {} tokens", positions.size(),
        batch.tokens.size());
  for (const TokenId token : batch.tokens)
    CHECK(token >= 0 && token < config().vocab_size, "token {} of {}", token, config().vocab_size);
  for (const std::int32_t row : batch.logit_rows)
    CHECK(row >= 0 && static_cast<std::size_t>(row) < positions.size(), "logits of row {}", row);
  act.resize(config(), positions.size(), batch.logit_rows.size());
  rope_table.set_positions(context, positions);
}

void Decoder::State::attend(const LayerWeights& layer, const ops::KvLayer& kv) {
  const ModelConfig& c = config();
  ops::rms_norm(context, act.hidden, layer.attention_norm, c.norm_eps, act.normed);
  apply(layer.q, act.normed, act.q);
  apply(layer.k, act.normed, act.k);
  apply(layer.v, act.normed, act.v);
  ops::rope(context, rope_table, c.num_heads, c.head_dim, act.q);
  ops::rope(context, rope_table, c.num_kv_heads, c.head_dim, act.k);
  ops::store_kv(context, kv, slices, act.k, act.v);
  ops::paged_attention(context, {.layer = kv,
                                 .slices = slices,
                                 .q = act.q,
                                 .out = act.attention,
                                 .num_heads = c.num_heads,
                                 .scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim))});
  apply(layer.attention_out, act.attention, act.branch);
  ops::add(context, act.branch, act.hidden);
}

void Decoder::State::feed_forward(const LayerWeights& layer) {
  ops::rms_norm(context, act.hidden, layer.mlp_norm, config().norm_eps, act.normed);
  apply(layer.gate, act.normed, act.gate);
  apply(layer.up, act.normed, act.up);
  ops::silu_mul(context, act.gate, act.up, act.gate);
  apply(layer.down, act.gate, act.branch);
  ops::add(context, act.branch, act.hidden);
}

void Decoder::State::head(const StepBatch& batch, std::span<float> logits) {
  const auto dim = static_cast<std::size_t>(config().hidden_size);
  for (std::size_t i = 0; i < batch.logit_rows.size(); ++i) {
    const auto row = static_cast<std::size_t>(batch.logit_rows[i]);
    std::copy_n(act.hidden.begin() + static_cast<std::ptrdiff_t>(row * dim), dim,
                act.last.begin() + static_cast<std::ptrdiff_t>(i * dim));
  }
  ops::rms_norm(context, act.last, weights.output_norm, config().norm_eps, act.last);
  ops::matmul(context, act.last, weights.output, {}, logits);
}

Decoder::Decoder(std::unique_ptr<State> state) : state_(std::move(state)) {}

Decoder::~Decoder() = default;

base::Result<std::unique_ptr<Decoder>> Decoder::load(Checkpoint checkpoint, DecoderOptions options,
                                                     ops::ComputePool& pool) {
  TRY(DecoderWeights weights, load_weights(checkpoint, options.precision, pool));
  auto state = std::make_unique<State>(std::move(checkpoint), std::move(weights), pool);
  return std::unique_ptr<Decoder>(new Decoder(std::move(state)));
}

const ModelConfig& Decoder::config() const {
  return state_->config();
}

void Decoder::forward(const StepBatch& batch, KvCache& kv, std::span<float> logits) {
  const std::size_t num_logits = batch.logit_rows.size() * static_cast<std::size_t>(config().vocab_size);
  CHECK(logits.size() == num_logits, "{} logits, {} wanted", logits.size(), num_logits);
  if (batch.tokens.empty()) return;
  State& s = *state_;
  s.begin(batch, kv);
  ops::embed(s.context, s.weights.embedding, batch.tokens, s.act.hidden);
  for (std::size_t i = 0; i < s.weights.layers.size(); ++i) {
    s.attend(s.weights.layers[i], kv.layer(static_cast<int>(i)));
    s.feed_forward(s.weights.layers[i]);
  }
  if (!batch.logit_rows.empty()) s.head(batch, logits);
}

}  // namespace kvasir::model
