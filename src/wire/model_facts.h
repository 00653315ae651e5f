#pragma once

#include <cstdint>
#include <string>

namespace kvasir::wire {

// Facts about a model, for lists of models.
struct ModelFacts {
  std::string format;               // of the model's files: "gguf", "safetensors"
  std::string architecture;         // "llama"
  std::string quantization;         // the type of most of its weights: "Q4_K_M", "BF16"
  std::string digest;               // SHA-256 of the first file; empty: not known
  std::string licence;              // name of the licence; empty: not known
  std::int64_t num_parameters = 0;  // 0: not known
  std::uint64_t num_bytes = 0;      // size of the model's files
  int embedding_length = 0;         // length of a token's vector
  int num_layers = 0;
  int num_heads = 0;
  int num_kv_heads = 0;
  bool on_gpu = false;
  bool operator==(const ModelFacts&) const = default;
};

}  // namespace kvasir::wire
