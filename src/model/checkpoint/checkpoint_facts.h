#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/result.h"

namespace kvasir::model {

// How a checkpoint is stored, read from its files. Shown in lists of models.
struct CheckpointFacts {
  std::string format;               // "gguf" or "safetensors"
  std::string quantization;         // the type of most numbers: "Q4_K_M", "BF16", "GPTQ"
  std::int64_t num_parameters = 0;  // numbers in all tensors; 0: unknown, because they are packed
};

// Reads the heads of a GGUF file, or of the safetensors files in a directory.
base::Result<CheckpointFacts> read_facts(const std::filesystem::path& path);

}  // namespace kvasir::model
