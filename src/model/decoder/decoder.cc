#include "model/decoder/decoder.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "model/decoder/decoder_state.h"
#include "ops/elementwise.h"
#include "ops/embed.h"
#include "ops/gather_columns.h"
#include "ops/layer_norm.h"
#include "ops/matmul.h"
#include "ops/rms_norm.h"

namespace kvasir::model {

namespace {

std::optional<ops::RopeTable> make_rope_table(const ModelConfig& config, RopeUse use) {
  const auto uses = [use](const LayerConfig& layer) { return layer.rope == use; };
  if (std::none_of(config.layers.begin(), config.layers.end(), uses)) return std::nullopt;
  const RopeConfig& rope = use == RopeUse::local ? config.local_rope : config.rope;
  RopeFrequencies table = frequencies(rope);
  return ops::RopeTable(rope.style, std::move(table.inverse_frequencies), table.attention_factor);
}

}  // namespace

Decoder::State::State(Checkpoint opened, DecoderWeights loaded, ops::ComputePool& pool)
    : checkpoint(std::move(opened)),
      weights(std::move(loaded)),
      context(pool),
      rope_table(make_rope_table(checkpoint.config, RopeUse::global)),
      local_rope_table(make_rope_table(checkpoint.config, RopeUse::local)) {}

// Reads the batch's slices and checks what the caller has promised. A wrong block would be memory of another
// sequence.
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
  num_rows = positions.size();
  CHECK(num_rows == batch.tokens.size(), "{} rows for {} tokens", num_rows, batch.tokens.size());
  for (const TokenId token : batch.tokens)
    CHECK(token >= 0 && token < config().vocab_size, "token {} of {}", token, config().vocab_size);
  for (const std::int32_t row : batch.logit_rows)
    CHECK(row >= 0 && static_cast<std::size_t>(row) < num_rows, "logits of row {}", row);
  if (rope_table) rope_table->set_positions(context, positions);
  if (local_rope_table) local_rope_table->set_positions(context, positions);

  hidden = buffers.hidden.take(num_rows, config().hidden_size);
  branch = buffers.branch.take(num_rows, config().hidden_size);
  ops::embed(context, weights.embedding, batch.tokens, hidden);
  if (config().embedding_scale != 1) ops::scale(context, config().embedding_scale, hidden);
  if (config().learned_positions) {
    ops::embed(context, weights.positions, positions, branch);
    ops::add(context, branch, hidden);
  }
}

void Decoder::State::head(const StepBatch& batch, std::span<float> logits) {
  const auto dim = static_cast<std::size_t>(config().hidden_size);
  const std::span<float> last = buffers.last.take(batch.logit_rows.size(), config().hidden_size);
  for (std::size_t i = 0; i < batch.logit_rows.size(); ++i) {
    const auto row = static_cast<std::size_t>(batch.logit_rows[i]);
    std::copy_n(hidden.begin() + static_cast<std::ptrdiff_t>(row * dim), dim,
                last.begin() + static_cast<std::ptrdiff_t>(i * dim));
  }
  normalize(weights.output_norm, config().norm_eps, last, last);
  ops::matmul(context, last, weights.output, {}, logits);
  if (config().logit_scale != 1) ops::scale(context, config().logit_scale, logits);
  if (config().logit_softcap > 0) ops::soft_cap(context, config().logit_softcap, logits);
}

std::span<const float> Decoder::State::normed_if(const Norm& norm, std::span<float> x) {
  if (norm.weight.empty()) return x;
  const std::span<float> normed = buffers.normed.take(num_rows, config().hidden_size);
  normalize(norm, config().norm_eps, x, normed);
  return normed;
}

void Decoder::State::normalize(const Norm& norm, float eps, std::span<const float> x, std::span<float> y) {
  if (norm.bias.empty()) {
    ops::rms_norm(context, x, norm.weight, eps, y);
  } else {
    ops::layer_norm(context, x, {norm.weight, norm.bias, eps}, y);
  }
}

void Decoder::State::apply(const Linear& linear, std::span<const float> x, std::span<float> y) {
  if (!linear.input_order.empty()) {
    const std::span<float> ordered = buffers.ordered.take(x.size() / linear.input_order.size(),
                                                          static_cast<int>(linear.input_order.size()));
    ops::gather_columns(context, x, linear.input_order, ordered);
    x = ordered;
  }
  ops::matmul(context, x, linear.weight, linear.bias, y);
}

void Decoder::State::add_branch(const Norm& post_norm) {
  if (!post_norm.weight.empty()) normalize(post_norm, config().norm_eps, branch, branch);
  if (config().residual_scale != 1) ops::scale(context, config().residual_scale, branch);
  ops::add(context, branch, hidden);
}

Decoder::Decoder(std::unique_ptr<State> state) : state_(std::move(state)) {}

Decoder::~Decoder() = default;

base::Result<std::unique_ptr<Decoder>> Decoder::load(Checkpoint checkpoint, DecoderOptions options,
                                                     ops::ComputePool& pool) {
  TRY(DecoderWeights weights, load_weights(checkpoint, options.precision, pool, options.stop));
  checkpoint.weights->release_pages();  // most weights are repacked, and would be in memory twice
  auto state = std::make_unique<State>(std::move(checkpoint), std::move(weights), pool);
  return std::unique_ptr<Decoder>(new Decoder(std::move(state)));
}

ops::ComputePool& Decoder::pool() const {
  return state_->context.pool();
}

const ModelConfig& Decoder::config() const {
  return state_->config();
}

std::int64_t Decoder::weight_bytes() const {
  const Checkpoint& checkpoint = state_->checkpoint;
  std::int64_t sum = 0;
  for (const std::string_view name : checkpoint.weights->names())
    if (const auto view = checkpoint.weights->find(name); view.ok()) sum += view->bytes();
  if (!config().tied_embeddings) sum -= state_->weights.embedding.bytes();
  return sum;
}

void Decoder::forward(const StepBatch& batch, KvCache& kv, std::span<float> logits) {
  const std::size_t num_logits = batch.logit_rows.size() * static_cast<std::size_t>(config().vocab_size);
  CHECK(logits.size() == num_logits, "{} logits, {} wanted", logits.size(), num_logits);
  if (batch.tokens.empty()) return;
  state_->begin(batch, kv);
  for (int layer = 0; layer < config().num_layers; ++layer) {
    state_->attend(layer, kv.layer(layer));
    state_->feed_forward(layer);
  }
  if (!batch.logit_rows.empty()) state_->head(batch, logits);
}

}  // namespace kvasir::model
