#include <algorithm>
#include <utility>

#include "base/check.h"
#include "model/cuda/cuda_state.h"
#include "ops/cuda/rows.h"

namespace kvasir::model {

using ops::cuda::DeviceBuffer;
using ops::cuda::GemmArgs;
using ops::cuda::NormWeights;

namespace {

constexpr int kMaxRecordedRows = 512;

// Steps are filled up to these, so that few graphs serve all.
int recorded_rows(int rows) {
  if (rows <= 2) return rows;
  const int step = rows <= 8 ? 4 : rows <= 64 ? 8 : rows <= 256 ? 16 : 32;
  return (rows + step - 1) / step * step;
}

int recorded_items(int items, int rows) {
  int step = 8;
  while (step * 16 < items) step *= 2;
  return std::max(rows, (items + step - 1) / step * step);
}

}  // namespace

CudaDecoder::CudaDecoder(ModelConfig config, DeviceWeights weights, const DeviceOptions& options)
    : config_(std::move(config)),
      options_(options),
      weights_(std::move(weights)),
      upload_(config_.is_latent() ? config_.num_heads : config_.num_heads / config_.num_kv_heads,
              ops::cuda::splits_rows(config_.head_dim) ? StepUpload::SingleRows::split
                                                       : StepUpload::SingleRows::tiled) {
  const bool sparse = std::any_of(config_.layers.begin(), config_.layers.end(),
                                  [](const LayerConfig& layer) { return layer.sparse; });
  can_record_ = options_.type == tensor::DType::bf16 && !sparse && !config_.is_latent() &&
                ops::cuda::splits_rows(config_.head_dim);
  fuses_rows_ = has_fused_rows();
}

base::Result<std::unique_ptr<DeviceDecoder>> CudaDecoder::create(ModelConfig config, DeviceWeights weights,
                                                                 const DeviceOptions& options) {
  std::unique_ptr<CudaDecoder> decoder(new CudaDecoder(std::move(config), std::move(weights), options));
  TRY(decoder->gemm_, ops::cuda::Gemm::create());
  TRY_OK(decoder->allocate());
  if (decoder->can_record_) decoder->tune(options.max_rows);  // what a long prompt is cut into
  return std::unique_ptr<DeviceDecoder>(std::move(decoder));
}

base::Status CudaDecoder::make_rope(RopeUse use, std::optional<DeviceRope>& rope) {
  const auto uses = [use](const LayerConfig& layer) { return layer.rope == use; };
  if (std::none_of(config_.layers.begin(), config_.layers.end(), uses)) return base::ok();
  const RopeConfig& from = use == RopeUse::local ? config_.local_rope : config_.rope;
  const RopeFrequencies made = frequencies(from);
  rope.emplace();
  rope->style = from.style;
  rope->num_pairs = static_cast<int>(made.inverse_frequencies.size());
  rope->factor = made.attention_factor;
  const std::size_t bytes = made.inverse_frequencies.size() * sizeof(float);
  TRY(rope->inverse_frequencies, DeviceBuffer::allocate(bytes));
  TRY(rope->table, DeviceBuffer::allocate(bytes * 2 * static_cast<std::size_t>(options_.max_rows)));
  ops::cuda::copy_to_device(stream(), rope->inverse_frequencies.data(), made.inverse_frequencies.data(),
                            bytes);
  stream_.wait();
  return base::ok();
}

base::Status CudaDecoder::allocate() {
  TRY_OK(make_rope(RopeUse::global, rope_));
  TRY_OK(make_rope(RopeUse::local, local_rope_));
  const bool latent = config_.is_latent();
  const int token = latent ? config_.rope.dim + config_.latent.kv_rank : config_.kv_size();
  kv_block_bytes_ = tensor::bytes_of(options_.type, std::int64_t{token} * ops::cuda::kBlockTokens);
  const std::int64_t part = kv_block_bytes_ * options_.num_blocks;
  const int parts = latent ? 1 : 2;
  TRY(kv_memory_, DeviceBuffer::allocate(static_cast<std::size_t>(part * parts * config_.num_layers)));
  ops::cuda::fill_zero(stream(), kv_memory_.data(), kv_memory_.size());
  for (int i = 0; i < config_.num_layers; ++i) {
    std::byte* k = kv_memory_.data() + i * parts * part;
    kv_.push_back({k, latent ? nullptr : k + part});
  }
  const auto sequences = static_cast<std::size_t>(recorded_rows(options_.max_sequences));
  TRY(draws_, ops::cuda::PinnedBuffer::allocate(sizeof(ops::cuda::RowDraw) * sequences));
  TRY(drawn_, ops::cuda::PinnedBuffer::allocate(sizeof(ops::cuda::RowDrawn) * sequences));
  TRY(scratch_.draws, DeviceBuffer::allocate(draws_.size()));
  TRY(scratch_.drawn, DeviceBuffer::allocate(drawn_.size()));
  ops::cuda::fill_zero(stream(), scratch_.draws.data(), scratch_.draws.size());
  return allocate_scratch();
}

base::Status CudaDecoder::allocate_scratch() {
  const ModelConfig& c = config_;
  DeviceScratch& s = scratch_;
  const MixtureConfig& m = c.mixture;
  // A recorded step may be filled up past what was asked for.
  const std::int64_t rows = std::max(options_.max_rows, recorded_rows(options_.max_sequences));
  const std::int64_t sequences = recorded_rows(options_.max_sequences);
  const auto reserve = [&](DeviceBuffer& buffer, std::int64_t count, std::int64_t cols) -> base::Status {
    TRY(buffer,
        DeviceBuffer::allocate(static_cast<std::size_t>(tensor::bytes_of(options_.type, count * cols))));
    return base::ok();
  };
  TRY_OK(reserve(s.hidden, rows, c.hidden_size));
  TRY_OK(reserve(s.branch, rows, c.hidden_size));
  TRY_OK(reserve(s.normed, rows, c.hidden_size));
  TRY_OK(reserve(s.qkv, rows, c.q_size() + 2 * c.kv_size()));
  TRY_OK(reserve(s.attention, rows, c.attention_size()));
  const std::int64_t inner = std::max(
      {c.intermediate_size, m.shared_intermediate_size, m.num_experts > 0 ? m.intermediate_size : 0});
  TRY_OK(reserve(s.gate_up, rows, 2 * inner));
  TRY_OK(reserve(s.inner, rows, inner));
  TRY_OK(reserve(s.last, sequences, c.hidden_size));
  const std::int64_t float_cols = std::int64_t{c.vocab_size} * 4 / tensor::bytes_of(options_.type, 1);
  TRY_OK(reserve(s.logits, sequences, float_cols));
  if (m.num_experts > 0) {
    const std::int64_t slots = rows * m.num_used;
    TRY_OK(reserve(s.router, rows, std::int64_t{m.num_experts} * 4));
    TRY_OK(reserve(s.slots, slots, c.hidden_size));
    TRY_OK(reserve(s.slot_out, slots, c.hidden_size));
    for (DeviceBuffer* buffer : {&s.slot_rows, &s.row_slots, &s.row_weights}) {
      TRY(*buffer, DeviceBuffer::allocate(static_cast<std::size_t>(slots) * 4));
    }
  }
  if (c.is_latent()) {
    const std::int64_t key = c.rope.dim + c.latent.kv_rank;
    TRY_OK(reserve(s.q_latent, rows, c.latent.q_rank));
    TRY_OK(reserve(s.kv_latent, rows, key));
    TRY_OK(reserve(s.latent, rows, c.latent.kv_rank));
    TRY_OK(reserve(s.keys, rows, key));
    TRY_OK(reserve(s.wide_q, rows, c.num_heads * key));
    TRY_OK(reserve(s.wide_out, rows, std::int64_t{c.num_heads} * c.latent.kv_rank));
  }
  return base::ok();
}

void CudaDecoder::copy_block(std::int32_t from, std::int32_t to) {
  CHECK(from >= 0 && from < num_blocks() && to >= 0 && to < num_blocks(), "copy of block {} to {}, of {}",
        from, to, num_blocks());
  for (const KvLayer& layer : kv_) {
    for (std::byte* part : {layer.k, layer.v}) {
      if (part == nullptr) continue;
      ops::cuda::copy_on_device(stream(), part + to * kv_block_bytes_, part + from * kv_block_bytes_,
                                static_cast<std::size_t>(kv_block_bytes_));
    }
  }
}

// A wrong block would be another sequence's memory.
void CudaDecoder::check_promise(const StepBatch& batch) const {
  CHECK(static_cast<int>(batch.tokens.size()) <= options_.max_rows, "{} rows of {}", batch.tokens.size(),
        options_.max_rows);
  CHECK(static_cast<int>(batch.logit_rows.size()) <= options_.max_sequences, "logits of {} rows, of {}",
        batch.logit_rows.size(), options_.max_sequences);
  std::size_t num_rows = 0;
  for (const StepBatch::Slice& slice : batch.slices) {
    CHECK(slice.first_row == static_cast<int>(num_rows) && slice.num_rows > 0, "rows have gaps");
    num_rows += static_cast<std::size_t>(slice.num_rows);
    const int num_tokens = slice.num_computed + slice.num_rows;
    CHECK(static_cast<int>(slice.blocks.size()) * ops::cuda::kBlockTokens >= num_tokens,
          "{} blocks for {} tokens", slice.blocks.size(), num_tokens);
    for (const std::int32_t block : slice.blocks)
      CHECK(block >= 0 && block < num_blocks(), "block {} of {}", block, num_blocks());
  }
  CHECK(num_rows == batch.tokens.size(), "{} rows for {} tokens", num_rows, batch.tokens.size());
  for (const TokenId token : batch.tokens)
    CHECK(token >= 0 && token < config_.vocab_size, "token {} of {}", token, config_.vocab_size);
  for (const std::int32_t row : batch.logit_rows)
    CHECK(row >= 0 && static_cast<std::size_t>(row) < num_rows, "logits of row {}", row);
}

void CudaDecoder::send_draws(std::span<const RowDraw> draws) {
  auto* staged = draws_.as<ops::cuda::RowDraw>();
  for (std::size_t i = 0; i < draws.size(); ++i) {
    const RowDraw& draw = draws[i];
    staged[i] = {draw.temperature, draw.top_p, draw.min_p, draw.top_k, draw.u};
  }
  ops::cuda::copy_to_device(stream(), scratch_.draws.data(), staged, draws.size() * sizeof(*staged));
}

void CudaDecoder::forward(const StepBatch& batch, std::span<const RowDraw> draws,
                          std::span<RowChoice> choices) {
  const std::size_t num_wanted = batch.logit_rows.size();
  CHECK(draws.size() == num_wanted && choices.size() == num_wanted, "{} rows of logits", num_wanted);
  num_logit_rows_ = static_cast<int>(num_wanted);
  if (batch.tokens.empty()) return stream_.wait();
  check_promise(batch);
  reserve_partials(StepUpload::count_split_items(batch));
  send_draws(draws);
  const auto num_rows = static_cast<int>(batch.tokens.size());
  if (can_record_ && num_rows <= std::min(kMaxRecordedRows, options_.max_sequences) &&
      StepUpload::is_decode(batch)) {
    run_decode(batch);
  } else {
    const base::Status sent = upload_.send(batch, {}, stream());
    CHECK(sent.ok(), "{}", sent.error().message);
    run_step();
  }
  auto* drawn = drawn_.as<ops::cuda::RowDrawn>();
  ops::cuda::copy_to_host(stream(), drawn, scratch_.drawn.data(), num_wanted * sizeof(*drawn));
  stream_.wait();
  for (std::size_t i = 0; i < num_wanted; ++i) choices[i] = {drawn[i].token, drawn[i].largest};
}

void CudaDecoder::fetch_logits(int row, std::span<float> logits) {
  CHECK(row >= 0 && row < num_logit_rows_ && static_cast<int>(logits.size()) == config_.vocab_size,
        "row {} of {}, {} logits", row, num_logit_rows_, logits.size());
  ops::cuda::copy_to_host(stream(), logits.data(),
                          scratch_.logits.as<const float>() + std::int64_t{row} * config_.vocab_size,
                          logits.size_bytes());
  stream_.wait();
}

void CudaDecoder::reserve_partials(int num_split_items) {
  const int items = recorded_items(num_split_items, recorded_rows(options_.max_sequences));
  const std::size_t bytes =
      ops::cuda::partial_floats(items, config_.num_heads, config_.head_dim) * sizeof(float);
  if (scratch_.partials.size() >= bytes) return;
  auto larger = DeviceBuffer::allocate(bytes + bytes / 2);
  CHECK(larger.ok(), "{}", larger.error().message);
  scratch_.partials = std::move(*larger);
  auto counters = DeviceBuffer::allocate(sizeof(std::int32_t) * 2 * static_cast<std::size_t>(items) *
                                         static_cast<std::size_t>(config_.num_heads));
  CHECK(counters.ok(), "{}", counters.error().message);
  scratch_.counters = std::move(*counters);
  ops::cuda::fill_zero(stream(), scratch_.counters.data(), scratch_.counters.size());
  graphs_.clear();
}

void CudaDecoder::run_decode(const StepBatch& batch) {
  const auto num_slices = static_cast<int>(batch.slices.size());
  StepPadding padding{.rows = recorded_rows(num_slices)};
  padding.split_items = recorded_items(StepUpload::count_split_items(batch), padding.rows);
  const base::Status sent = upload_.send(batch, padding, stream());
  CHECK(sent.ok(), "{}", sent.error().message);
  if (upload_.generation() != graph_generation_) graphs_.clear();
  graph_generation_ = upload_.generation();
  const std::pair key(padding.rows, padding.split_items);
  const auto known = graphs_.find(key);
  if (known != graphs_.end()) return known->second.launch(stream());
  if (!few_rows() && tuned_.insert(padding.rows).second) tune(padding.rows);
  run_step();  // loads what is still unloaded, which cannot be recorded
  ops::cuda::Graph::begin(stream());
  run_step();
  graphs_.emplace(key, ops::cuda::Graph::end(stream()));
}

// Products of few rows are bound by memory, and the library's first guess is often not the fastest.
void CudaDecoder::tune(int rows) {
  const auto tune_all = [&](const GemmArgs& args, const auto& weight_of) {
    std::vector<const void*> weights;
    for (const DeviceLayer& layer : weights_.layers) weights.push_back(weight_of(layer));
    gemm_->tune(stream(), args, weights);
  };
  const DeviceLayer& first = weights_.layers.front();
  void* x = scratch_.inner.data();
  tune_all(product(first.qkv, scratch_.normed.data(), rows, scratch_.qkv.data()),
           [](const DeviceLayer& layer) { return layer.qkv.w; });
  tune_all(half_product(first.out, scratch_.attention.data(), rows, first.attention_post_norm),
           [](const DeviceLayer& layer) { return layer.out.w; });
  tune_all(product(first.mlp.up, scratch_.normed.data(), rows, scratch_.gate_up.data()),
           [](const DeviceLayer& layer) { return layer.mlp.up.w; });
  tune_all(half_product(first.mlp.down, x, rows, first.mlp_post_norm),
           [](const DeviceLayer& layer) { return layer.mlp.down.w; });
  if (rows > options_.max_sequences) return;
  GemmArgs output = product(weights_.output, scratch_.last.data(), rows, scratch_.logits.data());
  output.out_type = tensor::DType::f32;
  gemm_->tune(stream(), output, {{output.w}});
}

void CudaDecoder::run_step() {
  const ops::cuda::StepView& step = upload_.view();
  for (const std::optional<DeviceRope>* rope : {&rope_, &local_rope_}) {
    if (!*rope) continue;
    ops::cuda::make_rope_table(stream(),
                               {.rows = rows(),
                                .num_pairs = (*rope)->num_pairs,
                                .factor = (*rope)->factor,
                                .inverse_frequencies = (*rope)->inverse_frequencies.as<const float>(),
                                .positions = step.positions,
                                .table = (*rope)->table.as<float>()});
  }
  ops::cuda::embed(stream(), {.type = options_.type,
                              .rows = rows(),
                              .dim = config_.hidden_size,
                              .scale = config_.embedding_scale,
                              .table = weights_.embedding,
                              .position_table = weights_.positions,
                              .tokens = step.tokens,
                              .positions = step.positions,
                              .y = scratch_.hidden.data()});
  branch_pending_ = false;
  NormWeights post_norm;
  for (int i = 0; i < config_.num_layers; ++i) {
    const DeviceLayer& layer = weights_.layers[static_cast<std::size_t>(i)];
    begin_half(post_norm, layer.attention_norm);
    attend(i);
    begin_half(layer.attention_post_norm, layer.mlp_norm);
    feed_forward(i);
    post_norm = layer.mlp_post_norm;
  }
  begin_half(post_norm, {});
  if (upload_.num_logit_rows() > 0) head();
}

void CudaDecoder::head() {
  const int num_rows = upload_.num_logit_rows();
  ops::cuda::add_norm(stream(), {.type = options_.type,
                                 .rows = num_rows,
                                 .dim = config_.hidden_size,
                                 .eps = config_.norm_eps,
                                 .hidden = scratch_.hidden.data(),
                                 .norm = weights_.output_norm,
                                 .out = scratch_.last.data(),
                                 .row_ids = upload_.logit_rows()});
  auto* logits = scratch_.logits.as<float>();
  if (few_rows() && num_rows == rows()) {
    multiply_few(weights_.output, scratch_.last.data(), {}, ops::cuda::GemvArgs::Then::store_f32, logits);
  } else {
    GemmArgs args = product(weights_.output, scratch_.last.data(), num_rows, logits);
    args.out_type = tensor::DType::f32;
    gemm_->run(stream(), args);
  }
  if (config_.logit_scale != 1 || config_.logit_softcap > 0)
    ops::cuda::scale_and_cap(stream(), logits, std::int64_t{num_rows} * config_.vocab_size,
                             config_.logit_scale, config_.logit_softcap);
  ops::cuda::draw_rows(stream(), num_rows, config_.vocab_size, logits,
                       scratch_.draws.as<const ops::cuda::RowDraw>(),
                       scratch_.drawn.as<ops::cuda::RowDrawn>());
}

GemmArgs CudaDecoder::product(const DeviceLinear& linear, const void* x, int num_rows, void* y) const {
  return {.x = x,
          .w = linear.w,
          .bias = linear.bias,
          .y = y,
          .rows = num_rows,
          .cols = linear.in,
          .out = linear.out,
          .type = options_.type,
          .out_type = options_.type};
}

void CudaDecoder::apply(const DeviceLinear& linear, const void* x, int num_rows, void* y) {
  gemm_->run(stream(), product(linear, x, num_rows, y));
}

GemmArgs CudaDecoder::half_product(const DeviceLinear& linear, const void* x, int num_rows,
                                   const NormWeights& post_norm) const {
  GemmArgs args = product(linear, x, num_rows, scratch_.branch.data());
  const bool directly =
      post_norm.weight == nullptr && (config_.residual_scale == 1 || linear.bias == nullptr);
  if (directly) {
    args.y = scratch_.hidden.data();
    args.scale = config_.residual_scale;
    args.into = GemmArgs::Into::add;
  }
  return args;
}

void CudaDecoder::end_half(const DeviceLinear& linear, const void* x, const NormWeights& post_norm) {
  if (few_rows()) return multiply_few(linear, x, {}, ops::cuda::GemvArgs::Then::add, scratch_.hidden.data());
  const GemmArgs args = half_product(linear, x, rows(), post_norm);
  gemm_->run(stream(), args);
  branch_pending_ = args.into == GemmArgs::Into::overwrite;
}

void CudaDecoder::begin_half(const NormWeights& post_norm, const NormWeights& norm) {
  if (few_rows() || (!branch_pending_ && norm.weight == nullptr)) return;
  ops::cuda::add_norm(stream(), {.type = options_.type,
                                 .rows = rows(),
                                 .dim = config_.hidden_size,
                                 .eps = config_.norm_eps,
                                 .hidden = scratch_.hidden.data(),
                                 .branch = branch_pending_ ? scratch_.branch.data() : nullptr,
                                 .post_norm = post_norm,
                                 .scale = config_.residual_scale,
                                 .norm = norm,
                                 .out = scratch_.normed.data()});
  branch_pending_ = false;
}

const void* CudaDecoder::normed_or_hidden(const NormWeights& norm) const {
  return norm.weight != nullptr ? scratch_.normed.data() : scratch_.hidden.data();
}

}  // namespace kvasir::model
