// Measures the attention of one step in a model of a given shape: attention_bench [threads] [isa]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

#include "ops/paged_attention.h"

namespace {

using kvasir::ops::ComputePool;
using kvasir::ops::Context;
using kvasir::ops::Isa;
using kvasir::ops::KvLayer;
using kvasir::ops::KvSlice;
using kvasir::ops::KvType;

struct Shape {
  const char* name;
  int num_layers;
  int num_heads;
  int num_kv_heads;
  int head_dim;
};

struct Load {
  int num_sequences;
  int num_rows;  // per sequence
  int depth;     // tokens before the rows
};

double seconds_of(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Every layer has its own memory, as in a model, so that no layer finds the data of another in a cache.
void measure(Context& context, const Shape& shape, KvType type, const Load& load) {
  const int context_tokens = load.depth + load.num_rows;
  const int blocks_each = (context_tokens + kvasir::ops::kBlockTokens - 1) / kvasir::ops::kBlockTokens;
  KvLayer layer = {.type = type, .num_kv_heads = shape.num_kv_heads, .head_dim = shape.head_dim};
  const auto layer_bytes = static_cast<std::size_t>(layer.block_bytes()) *
                           static_cast<std::size_t>(blocks_each * load.num_sequences);
  const std::size_t bytes = 2 * layer_bytes * static_cast<std::size_t>(shape.num_layers);
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(1 << 21, (bytes + (1 << 21) - 1) >> 21 << 21));
  std::memset(memory, 0x10, bytes);  // small numbers in every type
  std::vector<std::int32_t> blocks(static_cast<std::size_t>(blocks_each * load.num_sequences));
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<std::int32_t>(i);
  std::vector<KvSlice> slices;
  for (int i = 0; i < load.num_sequences; ++i) {
    slices.push_back({i * load.num_rows, load.num_rows, load.depth,
                      std::span(blocks).subspan(static_cast<std::size_t>(i * blocks_each),
                                                static_cast<std::size_t>(blocks_each))});
  }
  const std::size_t size = static_cast<std::size_t>(load.num_sequences * load.num_rows) *
                           static_cast<std::size_t>(shape.num_heads * shape.head_dim);
  const std::vector<float> q(size, 0.01f);
  std::vector<float> out(size);
  // Takes the best layer for all of them, since other work on the machine can only slow it down.
  double seconds = 1e9;
  for (int i = 0; i < 2 * shape.num_layers; ++i) {
    layer.k = memory + static_cast<std::size_t>(2 * (i % shape.num_layers)) * layer_bytes;
    layer.v = layer.k + layer_bytes;
    seconds = std::min(seconds, seconds_of([&] {
                         kvasir::ops::paged_attention(context, {.layer = layer,
                                                                .slices = slices,
                                                                .q = q,
                                                                .out = out,
                                                                .num_heads = shape.num_heads,
                                                                .scale = 0.1f});
                       }));
  }
  seconds *= shape.num_layers;
  const double tokens = load.depth + 0.5 * (load.num_rows + 1);
  const double products =
      2.0 * shape.num_layers * shape.num_heads * shape.head_dim * tokens * load.num_rows * load.num_sequences;
  std::printf("%-14s %-5s %d x %3d rows after %4d: %8.2f ms, %6.2f GB/s of KV, %6.1f Gflop/s\n", shape.name,
              kvasir::ops::name(type).data(), load.num_sequences, load.num_rows, load.depth, 1e3 * seconds,
              static_cast<double>(bytes) / seconds / 1e9, 2 * products / seconds / 1e9);
  std::free(memory);
}

}  // namespace

int main(int argc, char** argv) {
  const int num_threads =
      argc > 1 ? std::atoi(argv[1]) : static_cast<int>(std::thread::hardware_concurrency());
  const auto isa = kvasir::ops::choose_isa(argc > 2 ? argv[2] : "auto");
  if (num_threads < 1 || !isa.ok()) {
    std::fprintf(stderr, "attention_bench [threads] [isa]\n");
    return 2;
  }
  ComputePool pool(num_threads, *isa);
  Context context(pool);
  std::printf("%d threads, %s\n", num_threads, kvasir::ops::name(*isa).data());
  for (const Shape& shape : {Shape{"qwen2.5-1.5b", 28, 12, 2, 128}, Shape{"smollm2-135m", 30, 9, 3, 64}}) {
    for (const KvType type : {KvType::f16, KvType::int8}) {
      for (const Load& load : {Load{1, 1, 4096}, Load{8, 1, 4096}, Load{1, 512, 0}, Load{1, 512, 2048}})
        measure(context, shape, type, load);
    }
  }
  return 0;
}
