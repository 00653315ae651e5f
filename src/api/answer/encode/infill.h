#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "api/answer/encode/prompt.h"

namespace kvasir::api {

struct EncodedInfill {
  std::vector<TokenId> tokens;
  std::size_t num_left_out = 0;  // how many of the oldest files did not fit
};

// Refuses a model that cannot fill in the middle.
base::Status check_can_infill(const router::ModelText& model, const Infill& infill);

// The tokens of a prompt around a gap: the files, the text before the gap, the text after it, and the
// beginning of the answer. Text of the request never becomes a special token. The room for the answer that
// the request asks for is kept before files are added.
base::Result<EncodedInfill> encode_infill(const router::ModelText& model, const TextOrTokens& before,
                                          const CompletionRequest& request, const std::stop_token& stop);

}  // namespace kvasir::api
