#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "kv/block_hash.h"

namespace kvasir::router {

// What a request is going to ask of a worker, known before it has one.
struct Demand {
  const kv::BlockChain& prompt;             // of its first sequence
  std::int64_t num_tokens = 0;              // upper bound for all sequences, prompt and output together
  std::span<const std::string> avoid = {};  // members that it must not get
};

}  // namespace kvasir::router
