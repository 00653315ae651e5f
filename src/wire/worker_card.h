#pragma once

#include <string>

#include "kv/block_image.h"

namespace kvasir::wire {

// Roles of workers. Every worker can do everything; the role decides what gateways send it.
inline constexpr const char* kAnyRole = "any";
inline constexpr const char* kPrefillRole = "prefill";  // computes prompts that other workers answer
inline constexpr const char* kDecodeRole = "decode";    // answers requests; others compute long prompts
inline constexpr const char* kAutoRole = "auto";  // one of these two, chosen by gateways as the load asks

// What a worker tells gateways about itself. `id` and `address` are known before a connection; the rest comes
// with the first one.
struct WorkerCard {
  std::string id;           // unique in the fleet, and the same after a restart of the worker
  std::string address;      // HOST:PORT of its gRPC server
  std::string model;        // the name that clients ask for
  std::string fingerprint;  // of the weights and the program; workers with the same one give the same answers
  // SHA-256 of the tokenizer and the template; gateways must prepare text with these.
  std::string text_digest;
  std::string build;  // the program's version
  std::string role = kAnyRole;
  int context_length = 0;  // tokens of prompt and output together
  int num_blocks = 0;      // number of blocks of its KV cache
  int dimensions = 0;      // length of the vectors that it makes; 0: it generates text
  kv::BlockForm kv;        // the form in which its KV is sent
  bool operator==(const WorkerCard&) const = default;
};

}  // namespace kvasir::wire
