#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "base/result.h"
#include "ops/cpu/compute_pool.h"
#include "tensor/dtype.h"

namespace kvasir::model {

struct QuantizeProgress {
  std::int64_t read_bytes = 0;  // of the input's tensors
  std::int64_t total_bytes = 0;
  std::int64_t written_bytes = 0;
};

// Writes the model of a GGUF file, or of a directory with config.json, safetensors and tokenizer.json, with
// its matrices in `type` (Q8_0, Q4_0 or Q4_K). Other tensors of a GGUF file are copied as they are; those of
// a directory become f32. The embedding and the output matrix of a 4-bit file get 6 bits. A matrix whose rows
// do not consist of whole blocks gets 8 bits, or 16 if they are not whole blocks of 8 bits either. The file
// gets its name only when it is complete.
base::Status quantize_file(const std::filesystem::path& in, const std::filesystem::path& out,
                           tensor::DType type, ops::ComputePool& pool,
                           const std::function<void(const QuantizeProgress&)>& progress);

}  // namespace kvasir::model
