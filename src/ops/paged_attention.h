#pragma once

#include <cstdint>
#include <span>

#include "ops/cpu/context.h"
#include "ops/kv_cache.h"

namespace kvasir::ops {

enum class Mask : std::uint8_t {
  causal,  // a row sees its own position and those before it
  none,    // a row sees its whole sequence, which ends with the slice
};

struct AttentionArgs {
  KvLayer layer;
  std::span<const KvSlice> slices;
  std::span<const float> q;  // [rows, num_heads, head_dim]
  std::span<float> out;      // [rows, num_heads, value_dim]; not q
  int num_heads = 0;         // a multiple of layer.num_kv_heads
  float scale = 1;
  // A row sees this many of the last positions, its own included; 0: all. Causal and not latent.
  int sliding_window = 0;
  float softcap = 0;  // scores become softcap * tanh(score / softcap); 0: they stay
  Mask mask = Mask::causal;
};

// Attention of the slices' rows over their sequences' blocks, which hold the rows' own keys and values
// already. A row's result depends on its own position and context alone: it is the same bits when the prompt
// came in chunks of 7 or of 512, alone or in a batch, on however many threads.
void paged_attention(Context& context, const AttentionArgs& args);

}  // namespace kvasir::ops
