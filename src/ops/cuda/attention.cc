#include "ops/cuda/attention.h"

#include "ops/cuda/device.h"

namespace kvasir::ops::cuda {

bool splits_rows(int head_dim) {
  return architecture() >= 90 && (head_dim == 64 || head_dim == 128);
}

bool is_fast_attention(const AttentionArgs& args) {
  const bool known =
      args.head_dim == 64 || args.head_dim == 128 || (args.head_dim == 256 && args.kv == KvNumbers::same);
  return args.type == tensor::DType::bf16 && known && args.v != nullptr && args.value_dim == args.head_dim;
}

// For each split item and head, partials hold the sum of values, the largest score, and the sum of weights.
std::size_t partial_floats(int num_split_items, int num_heads, int value_dim) {
  return static_cast<std::size_t>(num_split_items) * static_cast<std::size_t>(num_heads) *
         (static_cast<std::size_t>(value_dim) + 2);
}

void attend(StreamHandle stream, const AttentionArgs& args) {
  if (!is_fast_attention(args)) return attend_rows_plainly(stream, args);
  attend_rows_split(stream, args);
  attend_rows_tiled(stream, args);
}

}  // namespace kvasir::ops::cuda
