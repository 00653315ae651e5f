#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "model/arch/model_config.h"
#include "model/checkpoint/checkpoint.h"
#include "model/decoder/step_batch.h"
#include "ops/cpu/compute_pool.h"
#include "ops/draw/row_draw.h"
#include "tensor/dtype.h"

namespace kvasir::model {

// How a device stores the matrices of layers.
enum class WeightNumbers : std::uint8_t {
  same,  // in the type of all other weights
  fp8,   // e4m3, with a scale for each row
  int4,  // four-bit matrices keep their bits, float ones are rounded; others are stored as `same`
};

inline WeightNumbers weight_numbers_named(std::string_view name) {
  if (name == "fp8") return WeightNumbers::fp8;
  return name == "int4" ? WeightNumbers::int4 : WeightNumbers::same;
}

struct DeviceOptions {
  tensor::DType type = tensor::DType::bf16;  // bf16 or f32; of weights, activations and KV
  int num_blocks = 0;                        // blocks of KV; 0: as many as kv_bytes hold
  std::int64_t kv_bytes = 0;                 // 0: nine tenths of the free memory
  bool kv_later = false;                     // KV is allocated by a call of reserve_kv(), not at once
  int max_rows = 512;                        // of a step
  int max_sequences = 64;                    // of a step
  int max_prompt_rows = 64;  // logits that a step computes besides those of its sequences' last rows
  // Most rows of a step that fused or four-bit kernels take; 0 (no such kernels) is for tests.
  int max_own_rows = 64;
  bool fp8_kv = false;                          // keys and values as e4m3, without scales; `type` is bf16
  WeightNumbers weights = WeightNumbers::same;  // fp8 and int4 need bf16
  // A row's result depends on its own sequence alone, to the last bit. This is slower, and works only for
  // dense decoders in bf16 on sm_90.
  bool batch_invariant = false;
  // The file that keeps the measurements of products from one start to the next; empty: they are not kept.
  std::filesystem::path products_file{};
  // The products of decode steps of every size are measured before the first step, not when a size first
  // occurs.
  bool tunes_ahead = false;
  std::stop_token stop{};
};

// How a row's next token is drawn. The rules apply in the order of sample::Sampler. All tokens named here are
// in the vocabulary.
struct RowDraw {
  float temperature = 0;  // 0: the most likely token is taken
  float top_p = 1;
  float min_p = 0;
  int top_k = 0;  // 0: all
  double u = 0;   // uniform in [0, 1)
  float repetition_penalty = 1;
  float frequency_penalty = 0;
  float presence_penalty = 0;
  // Penalties depend on the counts of a history, which the device keeps; -1: no penalties. The tokens listed
  // here are counted before the draw. A drawn token is counted only when a later draw lists it.
  int history = -1;
  bool clears_history = false;  // empties the history before tokens are counted
  std::span<const TokenId> prompt_counted;
  std::span<const TokenId> output_counted;
  std::span<const ops::TokenBias> biases;  // several biases of a token add up; -inf forbids it
  std::span<const std::uint32_t> allowed;  // one bit per token, lowest bit first; empty: every token
  std::optional<int> num_top;              // logprobs are wanted, of this many tokens besides the drawn one
  TokenId given = -1;                      // its logprob is wanted, no token is drawn; -1: a token is drawn
};

struct RowChoice {
  TokenId token = 0;
  float largest = 0;  // adjusted logit; +inf if the row has a NaN or +inf, -inf if every token is ruled out
  float logprob = 0;  // if logprobs are wanted
  std::span<const ops::TopToken> top;  // the likeliest tokens, if wanted; valid until the next collect()
};

// A decoder whose weights and KV are in the memory of another device. It does what Decoder and KvCache do on
// the CPU. Owned and touched by one thread. Unless it is batch_invariant, the last bits of a row's result may
// depend on the other rows of the step, because the fastest kernel depends on the number of rows.
class DeviceDecoder {
 public:
  virtual ~DeviceDecoder() = default;

  virtual const ModelConfig& config() const = 0;
  virtual int num_blocks() const = 0;
  virtual std::int64_t kv_block_bytes() const = 0;  // of all layers
  // Called once, on a decoder without KV.
  virtual base::Status reserve_kv(int num_blocks) = 0;
  virtual void copy_block(std::int32_t from, std::int32_t to) = 0;
  // These copy one block of every layer out of the device and into it, after the steps that were started. The
  // bytes, kv_block_bytes() of them, are in the canonical form (kv::BlockImage). A device whose form is empty
  // can do neither.
  virtual std::string block_form() const { return {}; }
  virtual void export_block(std::int32_t /*block*/, std::span<std::byte> /*out*/) {}
  virtual void import_block(std::int32_t /*block*/, std::span<const std::byte> /*in*/) {}

  // Draws can name the histories 0 to num_histories() - 1.
  virtual int num_histories() const = 0;

  // Starts to compute the rows' KV into the slices' blocks, and the logits of `batch.logit_rows`. Steps run
  // in the order in which they were started. At most two may be under way. The caller promises that tokens
  // are in the vocabulary, that blocks are in the KV, and that the step is within the options' bounds.
  // Arguments need not outlive the call.
  virtual void start(const StepBatch& batch) = 0;
  // Draws a token for each row of logits of the step that was started last. Called once for each step, before
  // the next start(). Arguments need not outlive the call.
  virtual void draw(std::span<const RowDraw> draws) = 0;  // [logit_rows]
  // Waits for the oldest step under way and its draws. Fails if the device has failed since the program
  // began. The device cannot be used any more then, and `choices` mean nothing.
  virtual base::Status collect(std::span<RowChoice> choices) = 0;  // [logit_rows]
  base::Status forward(const StepBatch& batch, std::span<const RowDraw> draws, std::span<RowChoice> choices) {
    start(batch);
    draw(draws);
    return collect(choices);
  }
  // Copies row `row` of the last step's logits, as the draw has adjusted them. No step may be under way.
  // Fails as collect() does.
  virtual base::Status fetch_logits(int row, std::span<float> logits) = 0;  // [vocab]
  // Returns how many steps of one row a single kernel has computed, as counted by that kernel. No step may be
  // under way.
  virtual std::int64_t num_lone_row_steps() { return 0; }
};

// Loads a decoder onto the first GPU. Fails with `unsupported` in a program that was built without CUDA.
base::Result<std::unique_ptr<DeviceDecoder>> load_cuda_decoder(Checkpoint checkpoint,
                                                               const DeviceOptions& options,
                                                               ops::ComputePool& pool);
// Returns the free memory of the first GPU.
base::Result<std::int64_t> cuda_free_bytes();
// Whether a model computes on the first GPU if the setting of its device is "cpu", "cuda" or "auto".
inline bool computes_on_cuda(std::string_view device) {
  return device == "cuda" || (device == "auto" && cuda_free_bytes().ok());
}
// Returns how many bytes a second the memory of the first GPU can deliver, by its clock and the width of its
// bus.
base::Result<double> cuda_memory_speed();
// Makes a decoder with random weights, for measurements.
base::Result<std::unique_ptr<DeviceDecoder>> make_random_cuda_decoder(const ModelConfig& config,
                                                                      const DeviceOptions& options);
}  // namespace kvasir::model
