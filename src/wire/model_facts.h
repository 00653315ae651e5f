#pragma once

#include <cstdint>
#include <string>

namespace kvasir::wire {

// What a model is, for those who list models.
struct ModelFacts {
  std::string format;               // of its files: "gguf", "safetensors"
  std::string architecture;         // "llama"
  std::string quantization;         // what most of its numbers are: "Q4_K_M", "BF16"
  std::string digest;               // SHA-256 of its first file; empty: not known
  std::string licence;              // its name; empty: not known
  std::int64_t num_parameters = 0;  // 0: not known
  std::uint64_t num_bytes = 0;      // of its files
  int embedding_length = 0;         // numbers of a token's vector
  int num_layers = 0;
  int num_heads = 0;
  int num_kv_heads = 0;
  bool on_gpu = false;
  bool operator==(const ModelFacts&) const = default;
};

}  // namespace kvasir::wire
