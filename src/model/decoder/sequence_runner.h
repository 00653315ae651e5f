#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "model/decoder/decoder.h"
#include "model/decoder/device_decoder.h"
#include "model/decoder/step_batch.h"
#include "ops/types/kv_layer.h"

namespace kvasir::model {

// Runs one sequence alone through a decoder, for checks and measurements; requests go through the engine.
// Uses the decoder, which outlives it, on the caller's thread. On a device, it overwrites the decoder's first
// blocks.
class SequenceRunner {
 public:
  static base::Result<SequenceRunner> create(Decoder& decoder, ops::KvType kv_type, int max_tokens);
  static base::Result<SequenceRunner> create(DeviceDecoder& decoder, int max_tokens);

  // Appends the tokens and returns the logits that follow each of the last `num_logits` of them, valid until
  // the next call. The sequence stays within `max_tokens`.
  std::span<const float> feed(std::span<const TokenId> tokens, int num_logits);  // [num_logits, vocab]
  void restart() { num_computed_ = 0; }
  int num_computed() const { return num_computed_; }

 private:
  using Forward = std::function<void(const StepBatch& batch, std::span<float> logits)>;
  SequenceRunner(Forward forward, int vocab_size, int num_blocks);

  Forward forward_;
  std::size_t vocab_size_;
  std::vector<std::int32_t> blocks_;
  int num_computed_ = 0;
  StepBatch batch_;
  std::vector<float> logits_;
};

// Returns the token with the largest logit, the first of equals.
TokenId argmax(std::span<const float> logits);
// Returns log softmax(logits)[token], summed in double.
double logprob(std::span<const float> logits, TokenId token);

}  // namespace kvasir::model
