#pragma once

#include <stop_token>
#include <vector>

#include "base/ids.h"

namespace kvasir::wire {

// Texts that are to become vectors, with the special tokens that the model wants around them.
struct EmbedRequest {
  std::vector<std::vector<TokenId>> sequences;  // none is empty, none longer than the model reads
  std::stop_token stop;                         // requested: nobody wants the result any more
};

}  // namespace kvasir::wire
