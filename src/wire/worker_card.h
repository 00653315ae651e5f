#pragma once

#include <string>

#include "kv/block_image.h"

namespace kvasir::wire {

// Roles of workers. Each can do everything; the role says what gateways send it.
inline constexpr const char* kAnyRole = "any";
inline constexpr const char* kPrefillRole = "prefill";  // prompts that others answer
inline constexpr const char* kDecodeRole = "decode";    // requests, whose long prompts others compute

// What a worker says of itself to those who send it requests. `id` and `address` are known before anybody has
// spoken with it; the rest comes with the first connection.
struct WorkerCard {
  std::string id;           // unique in the fleet, and kept when the worker restarts
  std::string address;      // HOST:PORT of its gRPC server
  std::string model;        // the name that clients ask for
  std::string fingerprint;  // of the weights and the program: two workers with one give the same answers
  std::string
      text_digest;    // SHA-256 of the tokenizer and the template; gateways must prepare text with these
  std::string build;  // the program's version
  std::string role = kAnyRole;
  int context_length = 0;  // tokens of prompt and output together
  int num_blocks = 0;      // of its KV cache
  int dimensions = 0;      // of the vectors that it makes; 0: it generates text
  kv::BlockForm kv;        // in which its KV travels
  bool operator==(const WorkerCard&) const = default;
};

}  // namespace kvasir::wire
