#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "sample/softmax.h"
#include "wire/generate_request.h"
#include "wire/token_event.h"

namespace kvasir::sample {

// What the next token depends on besides the logits.
struct SampleInput {
  const wire::SamplingParams& params;
  std::span<const TokenId> known;      // prompt, then output so far
  int num_prompt = 0;                  // of `known`
  std::span<const TokenId> forbidden;  // e.g. the end tokens before min_tokens
  // One bit a token, the lowest first; ids past the last bit are not allowed. Empty: every token is.
  std::span<const std::uint32_t> allowed;
};

// Draws tokens of one vocabulary. The result depends on its arguments only; the members are scratch. Not
// thread-safe.
//
// Order: repetition, frequency and presence penalties, logit bias, forbidden tokens, the mask; then greedy,
// or temperature, top-k, top-p over what top-k left, min-p. Logprobs are those of the model itself, before
// all of that.
class Sampler {
 public:
  explicit Sampler(int vocab_size);

  // `logits` [vocab_size]. An error where they say nothing: NaN, +inf, or every token ruled out.
  base::Result<wire::Token> sample(std::span<const float> logits, const SampleInput& input);
  // Of a token under the model itself, with the likeliest ones. `id` is in the vocabulary.
  wire::TokenLogprob logprob(std::span<const float> logits, TokenId id, int num_top);

 private:
  struct Candidate {
    float weight;
    TokenId id;
  };

  std::span<const float> adjust(std::span<const float> logits, const SampleInput& input);
  void penalize(const SampleInput& input);
  void keep_allowed(std::span<const std::uint32_t> allowed);
  TokenId draw(std::span<const float> logits, float max, const SampleInput& input);
  TokenId draw_from_all(double u) const;
  // Fill and cut `candidates_`; a weight is relative to that of the most likely token.
  void select(const wire::SamplingParams& params);
  void collect(double at_least);
  double keep_top_k(int top_k);
  void keep_top_p(double mass);

  int vocab_size_;
  std::vector<float> adjusted_;
  std::vector<int> counts_;  // [vocab_size] once a request has penalties, all zero between calls
  Softmax softmax_;
  std::vector<Candidate> candidates_;
};

}  // namespace kvasir::sample
