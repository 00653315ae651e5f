#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace kvasir::model {

// The rows of one step, flattened over its sequences: a decode row and a prefill chunk are the same thing.
struct StepBatch {
  struct Slice {
    int first_row = 0;
    int num_rows = 0;
    int num_computed = 0;                  // tokens of this sequence whose KV is already in its blocks
    std::span<const std::int32_t> blocks;  // physical blocks covering num_computed + num_rows tokens
  };
  std::vector<TokenId> tokens;  // [rows]; on a device, -1 - i means the token of draw i of the step before
  std::vector<Slice> slices;    // rows in order, without gaps; row r of a slice has position num_computed + r
  std::vector<std::int32_t> logit_rows;  // rows whose next-token logits are wanted, ascending
};

}  // namespace kvasir::model
