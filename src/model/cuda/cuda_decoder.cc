#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "model/cuda/cuda_state.h"
#include "ops/cuda/attention.h"
#include "ops/cuda/failure.h"
#include "ops/cuda/rows.h"

namespace kvasir::model {

using ops::cuda::DeviceBuffer;
using ops::cuda::GemmArgs;
using ops::cuda::NormWeights;

namespace {

constexpr int kMaxRecordedRows = 512;

}  // namespace

CudaDecoder::CudaDecoder(ModelConfig config, DeviceWeights weights, const DeviceOptions& options)
    : config_(std::move(config)),
      options_(options),
      weights_(std::move(weights)),
      upload_(config_.is_latent() ? config_.num_heads : config_.num_heads / config_.num_kv_heads,
              ops::cuda::splits_rows(config_.head_dim) && !options.batch_invariant
                  ? StepUpload::SingleRows::split
                  : StepUpload::SingleRows::tiled) {
  const bool waits = std::any_of(config_.layers.begin(), config_.layers.end(),
                                 [](const LayerConfig& layer) { return layer.sparse; }) &&
                     !routes_on_device(config_, options_);
  can_record_ = options_.type == tensor::DType::bf16 && !waits && !config_.is_latent() &&
                !options_.batch_invariant && ops::cuda::splits_rows(config_.head_dim);
  fuses_rows_ = has_fused_rows();
}

base::Result<std::unique_ptr<DeviceDecoder>> CudaDecoder::create(ModelConfig config, DeviceWeights weights,
                                                                 const DeviceOptions& options) {
  std::unique_ptr<CudaDecoder> decoder(new CudaDecoder(std::move(config), std::move(weights), options));
  using Choice = ops::cuda::Gemm::Choice;
  TRY(decoder->gemm_, ops::cuda::Gemm::create(options.batch_invariant ? Choice::invariant : Choice::fastest,
                                              options.products_file));
  TRY_OK(decoder->allocate());
  if (options.batch_invariant) TRY_OK(decoder->check_invariant());
  if (decoder->can_record_) decoder->tune(options.max_rows);  // for the chunks of long prompts
  if (decoder->can_record_ && options.tunes_ahead) decoder->tune_ahead();
  decoder->gemm_->save();
  decoder->stream_.wait();
  TRY_OK(ops::cuda::gpu_status());
  return std::unique_ptr<DeviceDecoder>(std::move(decoder));
}

base::Status CudaDecoder::check_invariant() const {
  const auto takes = [&](const DeviceLinear& linear) {
    return linear.w == nullptr ||
           ops::cuda::wide_product_takes(product(linear, scratch_.normed.data(), 1, scratch_.qkv.data()));
  };
  const bool all =
      takes(weights_.output) && std::ranges::all_of(weights_.layers, [&](const DeviceLayer& layer) {
        return takes(layer.qkv) && takes(layer.out) && takes(layer.mlp.up) && takes(layer.mlp.down);
      });
  if (all) return base::ok();
  return base::error(base::ErrorCode::unsupported,
                     "batch invariance needs matrices whose sizes are multiples of 8");
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

// Checks what the caller of start() promises. A wrong block would be memory of another sequence.
void CudaDecoder::check_promise(const StepBatch& batch) const {
  CHECK(static_cast<int>(batch.tokens.size()) <= options_.max_rows, "{} rows of {}", batch.tokens.size(),
        options_.max_rows);
  const int max_logits = options_.max_sequences + options_.max_prompt_rows;
  CHECK(static_cast<int>(batch.logit_rows.size()) <= max_logits, "logits of {} rows, of {}",
        batch.logit_rows.size(), max_logits);
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
  const int num_drawn = num_started_ > 0 ? steps_[(num_started_ - 1) % 2].num_draws : 0;
  for (const TokenId token : batch.tokens)
    CHECK(token >= -num_drawn && token < config_.vocab_size, "token {} of {}, draws {}", token,
          config_.vocab_size, num_drawn);
  for (const std::int32_t row : batch.logit_rows)
    CHECK(row >= 0 && static_cast<std::size_t>(row) < num_rows, "logits of row {}", row);
}

void CudaDecoder::start(const StepBatch& batch) {
  CHECK(num_started_ - num_collected_ < 2, "two steps are under way");
  CHECK(num_drawn_ == num_started_, "the last step's tokens are not drawn");
  check_promise(batch);
  steps_[num_started_++ % 2].num_draws = static_cast<int>(batch.logit_rows.size());
  if (batch.tokens.empty() || ops::cuda::has_failed()) return;
  const base::Status launched = launch(batch);
  if (!launched.ok()) ops::cuda::remember_failure(launched.error().message);
}

void CudaDecoder::draw(std::span<const RowDraw> draws) {
  CHECK(num_drawn_ + 1 == num_started_, "no step without draws");
  UnderWay& step = steps_[num_drawn_++ % 2];
  CHECK(static_cast<int>(draws.size()) == step.num_draws, "{} draws of {} rows", draws.size(),
        step.num_draws);
  step.num_top.clear();
  for (const RowDraw& draw : draws)
    step.num_top.push_back(std::clamp(draw.num_top.value_or(0), 0, ops::kMaxTopTokens));
  if (!draws.empty() && !ops::cuda::has_failed()) {
    const base::Status launched = launch_draws(draws, step);
    if (!launched.ok()) ops::cuda::remember_failure(launched.error().message);
  }
  step.done.record(stream());
}

base::Status CudaDecoder::launch_draws(std::span<const RowDraw> draws, const UnderWay& step) {
  TRY_OK(draw_upload_.send(draws, config_.vocab_size, num_histories(), stream()));
  ops::DrawArgs args{.cols = config_.vocab_size,
                     .logits = scratch_.logits.as<float>(),
                     .counts = scratch_.histories.as<std::uint32_t>(),
                     .drawn = scratch_.drawn.as<ops::RowDrawn>(),
                     .top = scratch_.top.as<ops::TopToken>()};
  draw_upload_.place(args);
  ops::cuda::draw_rows(stream(), step.num_draws, args);
  ops::cuda::copy_to_host(stream(), step.drawn.data(), scratch_.drawn.data(),
                          draws.size() * sizeof(ops::RowDrawn));
  if (std::ranges::any_of(step.num_top, [](int num_top) { return num_top > 0; }))
    ops::cuda::copy_to_host(stream(), step.top.data(), scratch_.top.data(),
                            draws.size() * sizeof(ops::TopToken) * ops::kMaxTopTokens);
  return base::ok();
}

base::Status CudaDecoder::launch(const StepBatch& batch) {
  TRY_OK(reserve_partials(upload_.count_split_items(batch)));
  const auto num_rows = static_cast<int>(batch.tokens.size());
  if (can_record_ && num_rows <= std::min(kMaxRecordedRows, options_.max_sequences) &&
      StepUpload::is_decode(batch)) {
    TRY_OK(run_decode(batch));
  } else {
    TRY_OK(upload_.send(batch, {}, stream()));
    run_step();
  }
  return base::ok();
}

base::Status CudaDecoder::collect(std::span<RowChoice> choices) {
  CHECK(num_collected_ < num_drawn_, "no step is under way");
  const UnderWay& step = steps_[num_collected_++ % 2];
  CHECK(static_cast<int>(choices.size()) == step.num_draws, "{} choices of {}", choices.size(),
        step.num_draws);
  step.done.wait();
  TRY_OK(ops::cuda::gpu_status());
  const auto* drawn = step.drawn.as<const ops::RowDrawn>();
  const auto* top = step.top.as<const ops::TopToken>();
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const auto num_top = static_cast<std::size_t>(std::min(step.num_top[i], config_.vocab_size));
    choices[i] = {
        drawn[i].token, drawn[i].largest, drawn[i].logprob, {top + i * ops::kMaxTopTokens, num_top}};
  }
  return base::ok();
}

base::Status CudaDecoder::fetch_logits(int row, std::span<float> logits) {
  CHECK(num_started_ > 0 && num_collected_ == num_started_, "no step, or one under way");
  const int num_rows = steps_[(num_started_ - 1) % 2].num_draws;
  CHECK(row >= 0 && row < num_rows && static_cast<int>(logits.size()) == config_.vocab_size,
        "row {} of {}, {} logits", row, num_rows, logits.size());
  ops::cuda::copy_to_host(stream(), logits.data(),
                          scratch_.logits.as<const float>() + std::int64_t{row} * config_.vocab_size,
                          logits.size_bytes());
  stream_.wait();
  return ops::cuda::gpu_status();
}

base::Status CudaDecoder::run_decode(const StepBatch& batch) {
  const auto num_slices = static_cast<int>(batch.slices.size());
  StepPadding padding{.rows = recorded_rows(num_slices)};
  padding.split_items = recorded_items(upload_.count_split_items(batch), padding.rows);
  TRY_OK(upload_.send(batch, padding, stream()));
  if (upload_.generation() != graph_generation_) graphs_.clear();
  graph_generation_ = upload_.generation();
  const std::tuple key(padding.rows, padding.split_items, StepUpload::split_tokens(batch));
  const auto known = graphs_.find(key);
  if (known != graphs_.end()) {
    known->second.launch(stream());
    return base::ok();
  }
  if (!few_rows() && !is_lone_row() && tuned_.insert(padding.rows).second) {
    tune(padding.rows);
    gemm_->save();
  }
  run_step();  // loads the kernels, because loading cannot be recorded
  ops::cuda::Graph::begin(stream());
  run_step();
  graphs_.emplace(key, ops::cuda::Graph::end(stream()));
  return base::ok();
}

void CudaDecoder::tune_ahead() {
  const int most = std::min(kMaxRecordedRows, options_.max_sequences);
  for (int rows = 2; rows <= most; ++rows)
    if (tuned_.insert(recorded_rows(rows)).second) tune(recorded_rows(rows));
}

// Measures the ways to compute the products of steps with this many rows. Products of few rows are bound by
// memory, and the library's first choice is often not the fastest.
void CudaDecoder::tune(int rows) {
  const bool quantized = options_.weights == WeightNumbers::fp8;
  const DeviceBuffer& attended = quantized ? scratch_.quantized : scratch_.attention;
  // Tunes one product with the weights of all layers that have it, and with the norm of the first such layer.
  const auto tune_all = [&](const auto& linear_of, const auto& args_of) {
    std::vector<const void*> weights;
    const DeviceLayer* first = nullptr;
    for (const DeviceLayer& layer : weights_.layers) {
      if (linear_of(layer).w == nullptr) continue;
      if (first == nullptr) first = &layer;
      weights.push_back(linear_of(layer).w);
    }
    if (first == nullptr || is_skinny(linear_of(*first), rows)) return;
    DeviceLinear linear = linear_of(*first);
    if (linear.groups != nullptr) {
      linear.w = scratch_.unpacked.data();
      linear.groups = nullptr;
      linear.is_fresh = true;
      weights = {linear.w};
    }
    gemm_->tune(stream(), args_of(linear, *first), weights);
  };
  tune_all([](const DeviceLayer& layer) -> const DeviceLinear& { return layer.qkv; },
           [&](const DeviceLinear& linear, const DeviceLayer&) {
             return product(linear, scratch_.normed.data(), rows, scratch_.qkv.data());
           });
  tune_all([](const DeviceLayer& layer) -> const DeviceLinear& { return layer.out; },
           [&](const DeviceLinear& linear, const DeviceLayer& layer) {
             return half_product(linear, attended.data(), rows, layer.attention_post_norm);
           });
  tune_all([](const DeviceLayer& layer) -> const DeviceLinear& { return layer.mlp.up; },
           [&](const DeviceLinear& linear, const DeviceLayer&) {
             return product(linear, scratch_.normed.data(), rows, scratch_.gate_up.data());
           });
  tune_all([](const DeviceLayer& layer) -> const DeviceLinear& { return layer.mlp.down; },
           [&](const DeviceLinear& linear, const DeviceLayer& layer) {
             return half_product(linear, scratch_.inner.data(), rows, layer.mlp_post_norm);
           });
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
                              .drawn = scratch_.drawn.as<const ops::RowDrawn>(),
                              .positions = step.positions,
                              .y = scratch_.hidden.data()});
  if (is_lone_row()) {
    ops::cuda::run_lone_row(stream(), lone_row_args());
    return scale_logits();
  }
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
  if (upload_.num_logit_rows() == 0) return;
  compute_logits();
  scale_logits();
}

void CudaDecoder::compute_logits() {
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
}

void CudaDecoder::scale_logits() {
  if (config_.logit_scale == 1 && config_.logit_softcap <= 0) return;
  ops::cuda::scale_and_cap(stream(), scratch_.logits.as<float>(),
                           std::int64_t{upload_.num_logit_rows()} * config_.vocab_size, config_.logit_scale,
                           config_.logit_softcap);
}

GemmArgs CudaDecoder::product(const DeviceLinear& linear, const void* x, int num_rows, void* y) const {
  return {.x = x,
          .w = linear.w,
          .bias = linear.bias,
          .y = y,
          .x_scales = linear.scales != nullptr ? scratch_.x_scales.as<const float>() : nullptr,
          .w_scales = linear.scales,
          .rows = num_rows,
          .cols = linear.in,
          .out = linear.out,
          .type = options_.type,
          .out_type = options_.type,
          .w_is_fresh = linear.is_fresh};
}

void CudaDecoder::apply(const DeviceLinear& linear, const void* x, int num_rows, void* y) {
  if (is_skinny(linear, num_rows))
    multiply_skinny(linear, x, num_rows, ops::cuda::GemvArgs::Then::store, y);
  else
    gemm_->run(stream(), product(unpack(linear), x, num_rows, y));
}

GemmArgs CudaDecoder::half_product(const DeviceLinear& linear, const void* x, int num_rows,
                                   const NormWeights& post_norm) const {
  GemmArgs args = product(linear, x, num_rows, scratch_.branch.data());
  const bool directly = linear.scales == nullptr && post_norm.weight == nullptr &&
                        (config_.residual_scale == 1 || linear.bias == nullptr);
  if (directly) {
    args.y = scratch_.hidden.data();
    args.scale = config_.residual_scale;
    args.into = GemmArgs::Into::add;
  }
  return args;
}

void CudaDecoder::end_half(const DeviceLinear& linear, const void* x, const NormWeights& post_norm) {
  if (few_rows()) return multiply_few(linear, x, {}, ops::cuda::GemvArgs::Then::add, scratch_.hidden.data());
  if (is_skinny(linear, rows())) {
    branch_pending_ = post_norm.weight != nullptr;
    if (branch_pending_)
      multiply_skinny(linear, x, rows(), ops::cuda::GemvArgs::Then::store, scratch_.branch.data());
    else
      multiply_skinny(linear, x, rows(), ops::cuda::GemvArgs::Then::add, scratch_.hidden.data());
    return;
  }
  const GemmArgs args = half_product(unpack(linear), x, rows(), post_norm);
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
                                 .out = scratch_.normed.data(),
                                 .out_scales = quantizes() ? scratch_.x_scales.as<float>() : nullptr});
  branch_pending_ = false;
}

const void* CudaDecoder::normed_or_hidden(const NormWeights& norm) const {
  return norm.weight != nullptr ? scratch_.normed.data() : scratch_.hidden.data();
}

}  // namespace kvasir::model
