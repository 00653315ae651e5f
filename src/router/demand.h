#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "kv/block_hash.h"
#include "wire/forecast.h"

namespace kvasir::router {

// What a request is going to ask of a worker, known before it has one.
struct Demand {
  const kv::BlockChain& prompt;             // of its first sequence
  std::int64_t num_tokens = 0;              // upper bound for all sequences, prompt and output together
  std::span<const std::string> avoid = {};  // members that it must not get
  const wire::Outline* outline = nullptr;   // null: an ordinary request with this prompt
  // What the request belongs to: requests with the same number rather go to the same member, if nothing else
  // speaks for another one. 0: those whose prompts begin alike belong together.
  std::uint64_t affinity = 0;
  bool explains = false;  // the lease's Route gets the scores of all members that were weighed
};

}  // namespace kvasir::router
