#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/cuda/step_view.h"
#include "ops/cuda/stream.h"
#include "ops/types/activation.h"
#include "ops/types/rope_style.h"

namespace kvasir::ops::cuda {

// A step of one row through all layers of a dense decoder, as a single kernel. Its speed is limited by
// reading the weights, so it goes on reading them during attention and while thread blocks wait for each
// other.

// The four products of a layer, and the product with the vocabulary after the last layer.
enum LoneProduct : std::uint8_t { kLoneQkv, kLoneOut, kLoneUp, kLoneDown, kLoneVocabulary };
inline constexpr int kLoneLayerProducts = 4;

// A layer's description, which the kernel reads from the device's memory.
struct alignas(16) LoneLayer {
  // [out, cols], as bf16, or as e4m3 with scales. In the `up` weights, all gates come first, then their
  // partners.
  const void* w[kLoneLayerProducts] = {};
  const float* scales[kLoneLayerProducts] = {};  // [out], or null
  const void* qkv_bias = nullptr;                // as bf16, or null
  const float* attention_norm = nullptr;         // [hidden]
  const float* mlp_norm = nullptr;
  const float* q_norm = nullptr;  // [head_dim], or null
  const float* k_norm = nullptr;
  void* k = nullptr;  // the layer's KV blocks
  void* v = nullptr;
  int rope = -1;           // index in LoneRowArgs::ropes; -1: nothing is rotated
  int sliding_window = 0;  // 0: none
};

struct LoneRope {
  const float* table = nullptr;  // [2, num_pairs]: cosines, then sines of the row's position
  int num_pairs = 0;
  RopeStyle style = RopeStyle::neox;
};

struct LoneRowArgs {
  bool quantized = false;  // the weights of the layers are e4m3
  KvNumbers kv = KvNumbers::same;
  int num_layers = 0;
  int hidden = 0;
  int inner = 0;
  int num_heads = 0;
  int num_kv_heads = 0;
  int head_dim = 0;
  int vocab = 0;
  float eps = 1e-5f;
  float residual_scale = 1;
  float attention_scale = 1;
  float softcap = 0;  // for attention scores; 0: none
  Activation activation = Activation::silu;
  const LoneLayer* layers = nullptr;  // [num_layers], on the device
  const float* output_norm = nullptr;
  const void* output = nullptr;             // [vocab, hidden], as bf16
  const std::int32_t* positions = nullptr;  // [1]
  const std::int32_t* blocks = nullptr;     // KV blocks of the sequence
  LoneRope ropes[2];
  const void* embedding = nullptr;  // [hidden], as bf16: the token's row
  std::byte* exchange = nullptr;    // of lone_exchange_bytes(); zeros before the first step
  float* logits = nullptr;          // [vocab]
};

std::size_t lone_exchange_bytes(const LoneRowArgs& args);
bool lone_row_takes(const LoneRowArgs& args);
void run_lone_row(StreamHandle stream, const LoneRowArgs& args);
// The number of steps that the kernel has completed with this exchange. Waits for the stream.
std::uint32_t count_lone_steps(StreamHandle stream, const LoneRowArgs& args);

}  // namespace kvasir::ops::cuda
