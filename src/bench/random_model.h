#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "base/result.h"
#include "bench/model_shape.h"

namespace kvasir::bench {

// Writes a GGUF file with random weights in the shape of a model. Kvasir and llama.cpp can load the file: it
// has a vocabulary of the right size with made-up tokens. `on_progress` gets the part that is done, from 0 to
// 1. The same arguments give the same bytes.
base::Status write_random_model(const std::filesystem::path& path, const ModelShape& shape,
                                const WeightTypes& types, std::uint64_t seed,
                                const std::function<void(double)>& on_progress);

}  // namespace kvasir::bench
