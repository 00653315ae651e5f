#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "kv/block_hash.h"
#include "wire/forecast.h"

namespace kvasir::router {

// What a request will ask of a worker, known before the worker is picked.
struct Demand {
  const kv::BlockChain& prompt;             // of its first sequence
  std::int64_t num_tokens = 0;              // upper bound for all sequences, prompt and output together
  std::span<const std::string> avoid = {};  // members that must not be picked
  const wire::Outline* outline = nullptr;   // null: an ordinary request with this prompt
  // Requests with the same number go to the same member, unless something speaks for another one. 0: the hash
  // of the prompt's first block takes the place of the number.
  std::uint64_t affinity = 0;
  bool explains = false;  // the lease's Route then holds the scores of all members that were weighed
};

}  // namespace kvasir::router
