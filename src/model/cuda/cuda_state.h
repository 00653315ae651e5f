#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "model/cuda/device_weights.h"
#include "model/cuda/draw_upload.h"
#include "model/cuda/step_upload.h"
#include "model/decoder/device_decoder.h"
#include "ops/cuda/attention.h"
#include "ops/cuda/device.h"
#include "ops/cuda/gemm.h"
#include "ops/cuda/gemv.h"
#include "ops/cuda/lone_row.h"
#include "ops/cuda/rope.h"
#include "ops/cuda/sample.h"
#include "ops/experts.h"

namespace kvasir::model {

// The rotations of a step, which are computed once and used by every layer.
struct DeviceRope {
  ops::RopeStyle style = ops::RopeStyle::neox;
  int num_pairs = 0;
  float factor = 1;
  ops::cuda::DeviceBuffer inverse_frequencies;
  ops::cuda::DeviceBuffer table;  // [max_rows, 2, num_pairs]
};

// Scratch memory, large enough for the largest step.
struct DeviceScratch {
  ops::cuda::DeviceBuffer hidden, branch, normed;  // [max_rows, hidden]
  ops::cuda::DeviceBuffer qkv, attention;
  ops::cuda::DeviceBuffer gate_up, inner;
  ops::cuda::DeviceBuffer quantized, x_scales;  // for products in e4m3
  ops::cuda::DeviceBuffer unpacked;             // a four-bit matrix, widened to bf16
  ops::cuda::DeviceBuffer partials, counters, tile_partials;
  ops::cuda::DeviceBuffer lone_layers, lone_exchange;  // null: no step runs in the one kernel for a lone row
  ops::cuda::DeviceBuffer last, logits, drawn, top;    // [max_logit_rows, ..]
  ops::cuda::DeviceBuffer histories;                   // [max_sequences, ..]
  ops::cuda::DeviceBuffer router, slots, slot_out, slot_rows, row_slots, row_weights;  // for a mixture
  ops::cuda::DeviceBuffer row_experts, first_slots, slot_inner;                 // for a mixture on the device
  ops::cuda::DeviceBuffer q_latent, kv_latent, latent, keys, wide_q, wide_out;  // for latent attention
};

// The decoder that load_cuda_decoder returns. cuda_memory.cc allocates its memory, cuda_decoder.cc runs
// steps, and cuda_blocks.cc copies blocks. cuda_attention.cc and cuda_feed_forward.cc hold the two halves of
// a layer. cuda_few_rows.cc and cuda_lone_row.cc hold the faster paths for steps of few rows and of one row.
class CudaDecoder final : public DeviceDecoder {
 public:
  static base::Result<std::unique_ptr<DeviceDecoder>> create(ModelConfig config, DeviceWeights weights,
                                                             const DeviceOptions& options);

  const ModelConfig& config() const override { return config_; }
  int num_blocks() const override { return options_.num_blocks; }
  std::int64_t kv_block_bytes() const override { return kv_block_bytes_ * kv_parts() * config_.num_layers; }
  base::Status reserve_kv(int num_blocks) override;
  void copy_block(std::int32_t from, std::int32_t to) override;
  std::string block_form() const override;
  void export_block(std::int32_t block, std::span<std::byte> out) override;
  void import_block(std::int32_t block, std::span<const std::byte> in) override;
  int num_histories() const override { return options_.max_sequences; }
  void start(const StepBatch& batch) override;
  void draw(std::span<const RowDraw> draws) override;
  base::Status collect(std::span<RowChoice> choices) override;
  base::Status fetch_logits(int row, std::span<float> logits) override;
  std::int64_t num_lone_row_steps() override;

 private:
  CudaDecoder(ModelConfig config, DeviceWeights weights, const DeviceOptions& options);

  // Recorded steps are padded to these sizes, so that few graphs serve all steps.
  static int recorded_rows(int rows);
  static int recorded_items(int items, int rows);

  int max_step_rows() const;   // most rows of a step, with the padding of a recorded step
  int max_logit_rows() const;  // most logits of a step, with the same padding

  base::Status allocate();
  base::Status check_invariant() const;
  base::Status allocate_scratch();
  base::Status make_rope(RopeUse use, std::optional<DeviceRope>& rope);
  void check_promise(const StepBatch& batch) const;
  // A step under way: where its drawn tokens and their alternatives arrive, and the event that says when.
  struct UnderWay {
    ops::cuda::PinnedBuffer drawn;
    ops::cuda::PinnedBuffer top;
    ops::cuda::Event done;
    int num_draws = 0;
    std::vector<int> num_top;  // [num_draws]
  };

  base::Status launch(const StepBatch& batch);
  base::Status launch_draws(std::span<const RowDraw> draws, const UnderWay& step);
  // Runs a step of single rows as a graph, which is recorded first if there is none.
  base::Status run_decode(const StepBatch& batch);
  base::Status reserve_partials(int num_split_items);
  void tune(int rows);
  void tune_ahead();  // for all sizes of recorded steps
  void run_step();    // launches all kernels of the step that `upload_` holds
  void attend(int layer);
  void attend_plain(int layer);
  void attend_latent(int layer);
  float attention_scale() const;
  void run_attention(int layer, const void* q, std::int64_t q_stride, void* out);
  void feed_forward(int layer);
  void run_mixture(int layer);
  // Applies the experts to `x`. The result is in `slot_out`; `row_slots` and `row_weights` say how to combine
  // it. Experts are chosen on the device, or by the host while the device waits.
  void run_experts(const DeviceLayer& layer, const void* x);
  void route(const DeviceLayer& layer);  // computes `row_experts` and `row_weights` from `router`
  void run_experts_by_host(const DeviceLayer& layer, const void* x);
  // Computes the activations of an MLP into the scratch `inner`.
  void run_mlp_inner(const DeviceLinear& up, int inner, const void* x, int rows);
  // Computes the activations with a product whose kernel also applies the gate.
  void run_gated(ops::cuda::GemmArgs up);
  void compute_logits();
  void scale_logits();

  // Whether the step is one row and uses multiply_few. In such a decoder, no layer has biases or norms after
  // its halves.
  bool few_rows() const;
  // Whether the inputs of the layers' products are e4m3 numbers, with scales in `x_scales`.
  bool quantizes() const;
  bool has_fused_rows() const;
  // True if the layer has no norms after its halves, and no biases but those of queries, keys and values.
  static bool is_common(const DeviceLayer& layer);
  void multiply_few(const DeviceLinear& linear, const void* x, const ops::cuda::NormWeights& norm,
                    ops::cuda::GemvArgs::Then then, void* y);
  void run_few_experts(const DeviceLayer& layer);

  // Whether the step is one row, for which one kernel computes all layers.
  bool is_lone_row() const;
  base::Status prepare_lone_row();
  ops::cuda::LoneRowArgs lone_row_args() const;

  // Whether multiply_skinny can multiply the matrix with this many rows.
  bool is_skinny(const DeviceLinear& linear, int num_rows) const;
  void multiply_skinny(const DeviceLinear& linear, const void* x, int num_rows,
                       ops::cuda::GemvArgs::Then then, void* y);
  // Returns the matrix in a form that the library takes. A four-bit matrix is widened into the scratch
  // `unpacked`, which the next call overwrites.
  DeviceLinear unpack(const DeviceLinear& linear);

  ops::cuda::GemmArgs product(const DeviceLinear& linear, const void* x, int rows, void* y) const;
  void apply(const DeviceLinear& linear, const void* x, int rows, void* y);
  // Describes the last product of a half layer. Its result is added to the hidden state, or stored in
  // `branch` if it has to be normalised first.
  ops::cuda::GemmArgs half_product(const DeviceLinear& linear, const void* x, int num_rows,
                                   const ops::cuda::NormWeights& post_norm) const;
  void end_half(const DeviceLinear& linear, const void* x, const ops::cuda::NormWeights& post_norm);
  // Adds `branch` if it is pending, and normalises for the next half.
  void begin_half(const ops::cuda::NormWeights& post_norm, const ops::cuda::NormWeights& norm);
  const void* normed_or_hidden(const ops::cuda::NormWeights& norm) const;
  ops::cuda::KvNumbers kv_numbers() const {
    return options_.fp8_kv ? ops::cuda::KvNumbers::e4m3 : ops::cuda::KvNumbers::same;
  }
  int kv_parts() const { return config_.is_latent() ? 1 : 2; }  // keys and values
  const DeviceRope* rope_of(const LayerConfig& layer) const;
  ops::cuda::StreamHandle stream() const { return stream_.handle(); }
  int rows() const { return upload_.view().rows; }

  const ModelConfig config_;
  DeviceOptions options_;
  DeviceWeights weights_;
  ops::cuda::Stream stream_;
  std::unique_ptr<ops::cuda::Gemm> gemm_;
  std::optional<DeviceRope> rope_, local_rope_;
  DeviceScratch scratch_;
  struct KvLayer {
    std::byte* k = nullptr;
    std::byte* v = nullptr;  // null: latent attention
  };
  ops::cuda::DeviceBuffer kv_memory_;
  std::int64_t kv_block_bytes_ = 0;  // a layer's keys in a block; its values take as much
  std::vector<KvLayer> kv_;
  ops::cuda::PinnedBuffer block_;  // [kv_block_bytes()], a block on its way in or out
  StepUpload upload_;
  DrawUpload draw_upload_;
  ops::ExpertPlan plan_;
  std::vector<float> router_logits_;
  bool can_record_ = false;
  bool fuses_rows_ = false;
  bool branch_pending_ = false;  // the last half layer's result is still in `branch`
  // The recorded steps, by their rows, split items, and tokens of a split item.
  std::map<std::tuple<int, int, int>, ops::cuda::Graph> graphs_;
  int graph_generation_ = 0;
  std::set<int> tuned_;  // numbers of rows for which products have been tuned
  UnderWay steps_[2];    // used in turn
  std::int64_t num_started_ = 0;
  std::int64_t num_drawn_ = 0;
  std::int64_t num_collected_ = 0;
};

}  // namespace kvasir::model
