#pragma once

#include <cstdint>

namespace kvasir::ops {

// Most tokens of a row that are reported with their logprobs, besides the drawn one.
inline constexpr int kMaxTopTokens = 32;
inline constexpr int kMaxDrawnVocab = 1 << 20;
// OpenAI's value for a token with probability 0, since JSON has no -inf.
inline constexpr float kLeastLogprob = -9999.0f;

struct TokenBias {
  std::int32_t token = 0;
  float bias = 0;
};

// How a row's token is drawn: as sample::Sampler does it, from the same weights in the same order.
// `first_counted`, `first_bias` and `mask` are indices into the lists of DrawLists.
struct RowDraw {
  float temperature = 0;  // 0: takes the token with the largest logit
  float top_p = 1;
  float min_p = 0;
  std::int32_t top_k = 0;  // 0: all tokens
  double u = 0;            // uniform in [0, 1)
  float repetition_penalty = 1;
  float frequency_penalty = 0;
  float presence_penalty = 0;
  std::int32_t history = -1;  // the row of DrawArgs::counts for the penalties; -1: no penalties
  std::int32_t clears = 0;    // 1: the history is emptied before tokens are counted
  // Tokens that are counted before the draw: first those of the prompt, then those of the output.
  std::int32_t first_counted = 0;
  std::int32_t num_prompt_counted = 0;
  std::int32_t num_counted = 0;
  std::int32_t first_bias = 0;
  std::int32_t num_biases = 0;
  std::int32_t mask = -1;     // -1: every token is allowed
  std::int32_t num_top = -1;  // top tokens to report besides the drawn one's logprob; -1: no logprobs
  std::int32_t given = -1;    // take this token and report its logprob; -1: draw a token
};

struct DrawLists {
  const std::int32_t* counted = nullptr;
  const TokenBias* biases = nullptr;     // several biases of one token add up
  const std::uint32_t* masks = nullptr;  // [.., mask_words]: a bit for each token, from the lowest bit on
  int mask_words = 0;
};

struct RowDrawn {
  std::int32_t token = 0;  // the drawn token, or the first with the largest logit
  float largest = 0;       // largest logit after penalties, bias and mask; +inf if the row has a NaN or +inf
  float logprob = 0;       // by the model's own logits, before penalties, bias and mask
};

struct TopToken {
  std::int32_t token = 0;
  float logprob = 0;
};

struct DrawArgs {
  int cols = 0;                    // tokens in the vocabulary, at most kMaxDrawnVocab
  float* logits = nullptr;         // [rows, cols], at a multiple of 16 bytes; adjusted in place
  const RowDraw* draws = nullptr;  // [rows]
  DrawLists lists;
  std::uint32_t* counts = nullptr;  // [histories, count_words(cols)]
  RowDrawn* drawn = nullptr;        // [rows]
  TopToken* top = nullptr;          // [rows, kMaxTopTokens], the likeliest first
};

// A token's count is half a word. Its highest bit says that the token is in the prompt; the other bits count
// it in the output.
constexpr int count_words(int cols) {
  return (cols + 1) / 2;
}

}  // namespace kvasir::ops
