#pragma once

#include <stop_token>
#include <vector>

#include "base/ids.h"

namespace kvasir::wire {

// Texts to turn into vectors, as tokens with the special tokens that the model needs around them.
struct EmbedRequest {
  std::vector<std::vector<TokenId>> sequences;  // none is empty or longer than the model can read
  std::stop_token stop;                         // requested when the result is no longer wanted
};

}  // namespace kvasir::wire
