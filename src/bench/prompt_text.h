#pragma once

#include <string>

#include "bench/random.h"

namespace kvasir::bench {

// How a server's tokens relate to our words. A probe measures it if the server counts tokens.
struct TokenScale {
  double tokens_per_word = 1;
  double overhead_tokens = 0;  // of the chat template, once per request

  int words_for(int tokens) const;
};

// `count` random words, each of which is one token in nearly every vocabulary.
std::string random_words(Random& random, int count);

}  // namespace kvasir::bench
