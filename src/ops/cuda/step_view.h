#pragma once

#include <cstdint>

namespace kvasir::ops::cuda {

inline constexpr int kBlockTokens = 16;
// Tokens of a sequence that one thread block reads when a single row attends to them. With many sequences,
// the block reads the larger number, so that there are fewer parts to combine. At most 32 KV blocks.
inline constexpr int kSplitTokens = 256;
inline constexpr int kLongSplitTokens = 512;
// How keys and values are stored.
enum class KvNumbers : std::uint8_t {
  same,  // of the queries' type
  e4m3,  // without scales; queries are bf16
};
// (row, head) pairs of a KV head that one thread block takes from a slice that is not split.
inline constexpr int kTileRows = 64;

// The rows of one sequence in a step, as kernels see them.
struct SliceView {
  std::int32_t first_row = 0;
  std::int32_t num_rows = 0;  // 0: this slice only fills up a recorded graph
  std::int32_t num_computed = 0;
  std::int32_t first_block = 0;  // index in StepView::blocks
  std::int32_t first_item = 0;   // if the slice is split: its first item in StepView::split_items
};

// A piece of attention. For a split slice, it is the `part`-th StepView::split_tokens tokens. For other
// slices, it is the (row, head) pairs from `part` * kTileRows on.
struct alignas(16) AttentionItem {
  SliceView slice;
  std::int32_t part = 0;
};

// A step in the device's memory.
struct StepView {
  int rows = 0;
  const std::int32_t* tokens = nullptr;      // [rows]
  const std::int32_t* positions = nullptr;   // [rows]
  const std::int32_t* row_slices = nullptr;  // [rows]
  const std::int32_t* slots = nullptr;       // [rows]: block * 16 + place for the row's key and value, or -1
  const SliceView* slices = nullptr;
  const std::int32_t* blocks = nullptr;
  const AttentionItem* split_items = nullptr;
  // [num_split_items, split_tokens / kBlockTokens]: each item's blocks.
  const std::int32_t* split_blocks = nullptr;
  int num_split_items = 0;
  int split_tokens = kSplitTokens;
  const AttentionItem* tile_items = nullptr;  // the items of a slice are together and in order
  int num_tile_items = 0;
  int longest_tile = 0;  // tokens in the longest of their sequences, with this step's rows
};

}  // namespace kvasir::ops::cuda
