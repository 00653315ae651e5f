#pragma once

#include <cstdint>
#include <span>

#include "ops/cpu/context.h"
#include "ops/kv_cache.h"

namespace kvasir::ops {

enum class Mask : std::uint8_t {
  causal,  // a row sees its own position and those before it
  none,    // a row sees its whole sequence, up to the end of the slice
};

struct AttentionArgs {
  KvLayer layer;
  std::span<const KvSlice> slices;
  std::span<const float> q;  // [rows, num_heads, head_dim]
  std::span<float> out;      // [rows, num_heads, value_dim]; must not overlap q
  int num_heads = 0;         // a multiple of layer.num_kv_heads
  float scale = 1;
  // A row sees this many of the last positions, including its own; 0: all. Only with Mask::causal, and not
  // for a latent layer.
  int sliding_window = 0;
  float softcap = 0;  // scores become softcap * tanh(score / softcap); 0: they are not capped
  Mask mask = Mask::causal;
};

// Attention of the slices' rows over their sequences' blocks, which already hold the rows' own keys and
// values. A row's result depends only on its own position and context: it has the same bits whether the
// prompt came in chunks of 7 or of 512, alone or in a batch, on any number of threads.
void paged_attention(Context& context, const AttentionArgs& args);

}  // namespace kvasir::ops
