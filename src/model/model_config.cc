#include "model/model_config.h"

#include <cmath>

namespace kvasir::model {

using base::ErrorCode;

namespace {

struct Bound {
  const char* name;
  int value;
  int max;
};

}  // namespace

base::Status validate(const ModelConfig& config) {
  const Bound bounds[] = {
      {"vocabulary size", config.vocab_size, 1 << 24},
      {"hidden size", config.hidden_size, 1 << 20},
      {"intermediate size", config.intermediate_size, 1 << 22},
      {"number of layers", config.num_layers, 1 << 12},
      {"number of heads", config.num_heads, 1 << 12},
      {"number of KV heads", config.num_kv_heads, 1 << 12},
      {"head dimension", config.head_dim, 1 << 12},
      {"context length", config.context_length, 1 << 28},
  };
  for (const Bound& bound : bounds) {
    if (bound.value < 1 || bound.value > bound.max)
      return base::error(ErrorCode::corrupt, "{} {} is not between 1 and {}", bound.name, bound.value,
                         bound.max);
  }
  if (config.num_heads % config.num_kv_heads != 0)
    return base::error(ErrorCode::corrupt, "{} heads are no multiple of {} KV heads", config.num_heads,
                       config.num_kv_heads);
  if (!std::isfinite(config.norm_eps) || config.norm_eps < 0)
    return base::error(ErrorCode::corrupt, "the norm's epsilon is not a number above 0");
  if (config.rope.dim > config.head_dim)
    return base::error(ErrorCode::corrupt, "rope rotates {} of {} numbers of a head", config.rope.dim,
                       config.head_dim);
  return validate(config.rope);
}

}  // namespace kvasir::model
