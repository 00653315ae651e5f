#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "model/arch/encoder_config.h"
#include "model/checkpoint/checkpoint.h"
#include "ops/cpu/compute_pool.h"
#include "ops/weight.h"

namespace kvasir::model {

struct EncoderOptions {
  ops::Precision precision = ops::Precision::fast;
};

// Turns each sequence of tokens into one vector. Owned and touched by one thread at a time; the work is
// spread over the compute pool, which must outlive the encoder. A sequence's vector depends on its own tokens
// alone.
class Encoder {
 public:
  static base::Result<std::unique_ptr<Encoder>> load(EncoderCheckpoint checkpoint, EncoderOptions options,
                                                     ops::ComputePool& pool);
  ~Encoder();

  const EncoderConfig& config() const;

  // Returns a vector of length 1 for each sequence, in order: [sequences, hidden_size]. Fails if a sequence
  // is empty, longer than config().context_length, or holds a token outside the vocabulary. The caller adds
  // special tokens. Many sequences are computed a few at a time.
  base::Result<std::vector<float>> encode(std::span<const std::vector<TokenId>> sequences);

 private:
  struct State;
  explicit Encoder(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace kvasir::model
