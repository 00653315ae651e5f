#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "model/encoder_config.h"
#include "model/weight_file.h"
#include "ops/cpu/compute_pool.h"
#include "ops/weight.h"

namespace kvasir::model {

// An encoder as it lies on disk, understood but not yet loaded.
struct EncoderCheckpoint {
  std::shared_ptr<const WeightFile> weights;
  EncoderNames names;
  EncoderConfig config;  // valid
};

struct EncoderOptions {
  ops::Precision precision = ops::Precision::fast;
};

// Turns sequences of tokens into one vector each. Owned and touched by one thread at a time; the work is
// spread over the compute pool, which outlives the encoder. A sequence's vector depends on its own tokens
// alone.
class Encoder {
 public:
  static base::Result<std::unique_ptr<Encoder>> load(EncoderCheckpoint checkpoint, EncoderOptions options,
                                                     ops::ComputePool& pool);
  ~Encoder();

  const EncoderConfig& config() const;

  // One vector of length 1 for each sequence, in order: [sequences, hidden_size]. Refuses a sequence that is
  // empty, longer than config().context_length, or holds a token outside the vocabulary. Special tokens are
  // the caller's to add. Many sequences are computed some at a time.
  base::Result<std::vector<float>> encode(std::span<const std::vector<TokenId>> sequences);

 private:
  struct State;
  explicit Encoder(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace kvasir::model
