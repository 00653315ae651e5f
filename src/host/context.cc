#include "host/context.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "kv/block.h"

namespace kvasir::host {

int wanted_context(const model::ModelConfig& config, const config::Settings& settings) {
  if (settings.max_context == 0) return config.context_length;
  return std::min(settings.max_context, config.context_length);
}

Context context_of(const model::ModelConfig& config, const config::Settings& settings, int num_blocks) {
  const int wanted = settings.max_context > 0 ? settings.max_context : config.context_length;
  const std::int64_t held = std::int64_t{num_blocks} * kv::kBlockTokens;
  const auto length = static_cast<int>(std::min<std::int64_t>({wanted, config.context_length, held}));
  if (length == wanted) return {.length = length};
  if (length == config.context_length)
    return {.length = length,
            .cut = fmt::format("context of {} tokens instead of {}: the model has no more", length, wanted)};
  if (settings.kv_memory_mb == 0)
    return {.length = length,
            .cut = fmt::format("context of {} tokens instead of {}: the GPU has no more memory left", length,
                               wanted)};
  return {.length = length,
          .cut = fmt::format("context of {} tokens instead of {}: the KV cache of {} MiB holds no more; "
                             "raise --kv-memory-mb",
                             length, wanted, settings.kv_memory_mb)};
}

}  // namespace kvasir::host
