#pragma once

#include <string>

#include "bench/random.h"

namespace kvasir::bench {

// How many tokens a server counts for words of random_words(). A probe measures this if the server counts
// tokens.
struct TokenScale {
  double tokens_per_word = 1;
  double overhead_tokens = 0;  // tokens of the chat template, once per request

  int words_for(int tokens) const;
};

// Returns `count` random words. Each is one token in nearly every vocabulary.
std::string random_words(Random& random, int count);

}  // namespace kvasir::bench
