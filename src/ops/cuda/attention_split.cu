#include "ops/cuda/attention_split.cuh"

// Attention of single rows by products of single warps. Heads of 128 with numbers of e4m3 use warpgroups
// instead (attention_split_wide.cu).
namespace kvasir::ops::cuda {
void attend_rows_split(StreamHandle stream, const AttentionArgs& args) {
  if (args.step.num_split_items == 0) return;
  const bool quantized = args.kv == KvNumbers::e4m3;
  if (args.head_dim == 64 && !quantized) launch_split<WarpStep<64, Bf16Fragments>>(stream, args);
  if (args.head_dim == 64 && quantized) launch_split<WarpStep<64, E4m3Fragments>>(stream, args);
  if (args.head_dim == 128 && !quantized) launch_split<WarpStep<128, Bf16Fragments>>(stream, args);
  if (args.head_dim == 128 && quantized) attend_rows_split_wide(stream, args);
}

}  // namespace kvasir::ops::cuda
