#pragma once

#include <cstdint>

namespace kvasir::ops {

// Most tokens a row that are reported with their logprobs, besides the drawn one.
inline constexpr int kMaxTopTokens = 32;
inline constexpr int kMaxDrawnVocab = 1 << 20;
// OpenAI's value for a token with probability 0, since JSON has no -inf.
inline constexpr float kLeastLogprob = -9999.0f;

struct TokenBias {
  std::int32_t token = 0;
  float bias = 0;
};

// How a row's token is drawn: as sample::Sampler does, from the same weights in the same order. Numbers of
// lists' entries are places in DrawLists.
struct RowDraw {
  float temperature = 0;  // 0: the largest
  float top_p = 1;
  float min_p = 0;
  std::int32_t top_k = 0;  // 0: all
  double u = 0;            // uniform in [0, 1)
  float repetition_penalty = 1;
  float frequency_penalty = 0;
  float presence_penalty = 0;
  std::int32_t history = -1;  // the row of counts that the penalties go by; -1: no penalties
  std::int32_t clears = 0;    // 1: the history is emptied before tokens are counted
  // Counted before the draw: first those of the prompt, then those of the output.
  std::int32_t first_counted = 0;
  std::int32_t num_prompt_counted = 0;
  std::int32_t num_counted = 0;
  std::int32_t first_bias = 0;
  std::int32_t num_biases = 0;
  std::int32_t mask = -1;     // -1: every token is allowed
  std::int32_t num_top = -1;  // tokens reported with the drawn one's logprob; -1: no logprobs
  std::int32_t given = -1;    // this token's logprob is wanted, and none is drawn; -1: one is drawn
};

struct DrawLists {
  const std::int32_t* counted = nullptr;
  const TokenBias* biases = nullptr;     // of one token several add up
  const std::uint32_t* masks = nullptr;  // [.., mask_words]: a bit for each token, the lowest first
  int mask_words = 0;
};

struct RowDrawn {
  std::int32_t token = 0;  // the first of the largest, or the drawn one
  float largest = 0;       // after penalties, bias and mask; +inf if the row has a NaN or +inf
  float logprob = 0;       // of the model itself, before all of these
};

struct TopToken {
  std::int32_t token = 0;
  float logprob = 0;
};

struct DrawArgs {
  int cols = 0;                    // of the vocabulary, at most kMaxDrawnVocab
  float* logits = nullptr;         // [rows, cols], at a multiple of 16 bytes; adjusted in place
  const RowDraw* draws = nullptr;  // [rows]
  DrawLists lists;
  std::uint32_t* counts = nullptr;  // [histories, count_words(cols)]
  RowDrawn* drawn = nullptr;        // [rows]
  TopToken* top = nullptr;          // [rows, kMaxTopTokens], the likeliest first
};

// A token's count is half a word: the highest bit says that it is in the prompt, the others count the output.
constexpr int count_words(int cols) {
  return (cols + 1) / 2;
}

}  // namespace kvasir::ops
