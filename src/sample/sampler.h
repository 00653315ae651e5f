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

// Everything besides the logits that the next token depends on.
struct SampleInput {
  const wire::SamplingParams& params;
  std::span<const TokenId> known;      // the prompt, then the output so far
  int num_prompt = 0;                  // how many tokens of `known` are the prompt
  std::span<const TokenId> forbidden;  // e.g. the end tokens before min_tokens
  // One bit per token, lowest bit first. Ids beyond the last bit are not allowed. If this is empty, every
  // token is allowed.
  std::span<const std::uint32_t> allowed;
};

// Draws tokens of one vocabulary. The result depends only on the arguments; the members are scratch memory.
// Not thread-safe. Rules apply in this order: repetition, frequency and presence penalties, logit bias,
// forbidden tokens, the mask; then either the likeliest token is taken (temperature 0), or temperature,
// top-k, top-p among the tokens that top-k left, and min-p apply. Logprobs are those of the model itself,
// before any rule.
class Sampler {
 public:
  explicit Sampler(int vocab_size);

  // `logits` is [vocab_size]. Fails if no token can be drawn: a logit is NaN or +inf, or every token is ruled
  // out.
  base::Result<wire::Token> sample(std::span<const float> logits, const SampleInput& input);
  // Returns the logprob of a token under the model itself, with the likeliest alternatives. `id` must be in
  // the vocabulary.
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
  // These fill `candidates_` and cut it. Weights are relative to the most likely token's.
  void select(const wire::SamplingParams& params);
  void collect(double at_least);
  double keep_top_k(int top_k);
  void keep_top_p(double mass);

  int vocab_size_;
  std::vector<float> adjusted_;
  std::vector<int> counts_;  // [vocab_size] after the first request with penalties; zero between calls
  Softmax softmax_;
  std::vector<Candidate> candidates_;
};

}  // namespace kvasir::sample
