#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/result.h"

namespace kvasir::model {

// What a checkpoint's files say of how it is stored, for those who list models.
struct CheckpointFacts {
  std::string format;               // "gguf" or "safetensors"
  std::string quantization;         // what most of its numbers are: "Q4_K_M", "BF16", "GPTQ"
  std::int64_t num_parameters = 0;  // numbers in all tensors; 0: they are packed in a way that hides it
};

// Reads the heads of a GGUF file, or of the safetensors files in a directory.
base::Result<CheckpointFacts> read_facts(const std::filesystem::path& path);

}  // namespace kvasir::model
