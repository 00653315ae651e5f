#pragma once

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
  std::stop_token stop{};  // once requested, loading ends before the next tensor: cancelled
};

// The transformer itself: one class for every family, told by its config what to be. Owned and touched by
// one thread at a time; a step's work is spread over the compute pool, which outlives the decoder. A row's
// logits depend on its own sequence alone: not on the batch, the chunking, or the number of threads.
class Decoder {
 public:
  static base::Result<std::unique_ptr<Decoder>> load(Checkpoint checkpoint, DecoderOptions options,
                                                     ops::ComputePool& pool);
  ~Decoder();

  const ModelConfig& config() const;
  ops::ComputePool& pool() const;

  // Computes the rows' KV into the slices' blocks, and the logits of `batch.logit_rows`.
  // Tokens inside the vocabulary, blocks inside `kv` and a span that fits are the caller's promise.
  void forward(const StepBatch& batch, KvCache& kv, std::span<float> logits /* [logit_rows, vocab] */);

 private:
  struct State;
  explicit Decoder(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace kvasir::model
