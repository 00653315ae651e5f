#pragma once

#include <string>

#include "bench/random.h"

namespace kvasir::bench {

// How a server's tokens relate to our words; measured by a probe where the server counts tokens.
struct TokenScale {
  double tokens_per_word = 1;
  double overhead_tokens = 0;  // of the chat template, once a request

  int words_for(int tokens) const;
};

// `count` random words that nearly every vocabulary holds as one token each.
std::string random_words(Random& random, int count);

}  // namespace kvasir::bench
