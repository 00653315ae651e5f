#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>

#include "base/result.h"
#include "model/arch/model_config.h"
#include "model/checkpoint/checkpoint.h"
#include "model/decoder/kv_cache.h"
#include "model/decoder/step_batch.h"
#include "ops/weight.h"

namespace kvasir::model {

struct DecoderOptions {
  ops::Precision precision = ops::Precision::fast;
  std::stop_token stop{};  // once stopped, loading fails with `cancelled` before the next tensor
};

// The transformer. One class serves every family, and its config says what to compute. Owned and touched by
// one thread at a time; a step's work is spread over the compute pool, which must outlive the decoder. A
// row's logits depend on its own sequence alone: not on the batch, the chunking, or the number of threads.
class Decoder {
 public:
  static base::Result<std::unique_ptr<Decoder>> load(Checkpoint checkpoint, DecoderOptions options,
                                                     ops::ComputePool& pool);
  ~Decoder();

  const ModelConfig& config() const;
  ops::ComputePool& pool() const;
  // Returns the bytes of the weights that a step reads as a whole. An embedding that is not also the output
  // matrix does not count.
  std::int64_t weight_bytes() const;

  // Computes the rows' KV into the slices' blocks, and the logits of `batch.logit_rows`. The caller promises
  // that tokens are in the vocabulary, that blocks are in `kv`, and that the span fits.
  void forward(const StepBatch& batch, KvCache& kv, std::span<float> logits /* [logit_rows, vocab] */);

 private:
  struct State;
  explicit Decoder(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace kvasir::model
