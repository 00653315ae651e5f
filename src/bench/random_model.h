#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "base/result.h"
#include "bench/model_shape.h"

namespace kvasir::bench {

// Writes a GGUF with random weights of a model's shape, which Kvasir and llama.cpp load: it has a vocabulary
// of the right size whose tokens are made up. `on_progress` hears the share done. The same arguments give the
// same bytes.
base::Status write_random_model(const std::filesystem::path& path, const ModelShape& shape,
                                const WeightTypes& types, std::uint64_t seed,
                                const std::function<void(double)>& on_progress);

}  // namespace kvasir::bench
