// Measures the products and the attention of one step for a model of Qwen2.5-1.5B's shape in Q4_K_M, with
// random weights: matmul_bench [threads] [isa] [fast|fine]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "ops/elementwise.h"
#include "ops/matmul.h"
#include "ops/paged_attention.h"
#include "ops/quant/dequantize.h"
#include "ops/rms_norm.h"

namespace {

using kvasir::ops::ComputePool;
using kvasir::ops::Context;
using kvasir::ops::Isa;
using kvasir::ops::Precision;
using kvasir::ops::Weight;
using kvasir::tensor::DType;

constexpr int kLayers = 28;
constexpr int kDim = 1536;
constexpr int kHidden = 8960;
constexpr int kVocabulary = 151936;

Precision precision = Precision::fast;

double seconds_of(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Takes the best of several rounds, since other work on the machine can only slow it down.
double best_of(int rounds, const std::function<void()>& f) {
  double best = seconds_of(f);
  for (int i = 1; i < rounds; ++i) best = std::min(best, seconds_of(f));
  return best;
}

// Leaves the weight in the file's format in `bytes`, which a borrowing weight needs.
Weight random_weight(DType type, std::int64_t rows, std::int64_t cols, ComputePool& pool, double& packing,
                     std::vector<std::byte>& bytes) {
  const auto& info = kvasir::tensor::info(type);
  bytes.resize(static_cast<std::size_t>(kvasir::tensor::bytes_of(type, rows * cols)));
  std::uint64_t state = 88172645463325252u;
  for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    std::memcpy(&bytes[i], &state, 8);
  }
  const std::uint16_t scale = kvasir::ops::f32_to_f16(0.001f);
  const std::size_t first = type == DType::q6_k ? 208 : 0;
  const std::size_t last = type == DType::q4_k || type == DType::q4_1 ? 2 : first;
  for (std::size_t i = 0; i < bytes.size(); i += static_cast<std::size_t>(info.block_bytes)) {
    std::memcpy(&bytes[i + first], &scale, 2);
    std::memcpy(&bytes[i + last], &scale, 2);
  }
  Weight w;
  packing +=
      seconds_of([&] { w = Weight::prepare({bytes.data(), type, {rows, cols}}, precision, &pool).value(); });
  return w;
}

struct Layer {
  Weight q, k, v, o, gate, up, down;
};

struct Model {
  std::vector<Layer> layers;
  Weight head;
};

Model random_model(ComputePool& pool) {
  Model model;
  double packing = 0;
  std::vector<std::byte> bytes;
  for (int i = 0; i < kLayers; ++i) {
    const DType mixed = i % 2 == 0 ? DType::q6_k : DType::q4_k;
    Layer layer;
    layer.q = random_weight(DType::q4_k, kDim, kDim, pool, packing, bytes);
    layer.k = random_weight(DType::q4_k, 256, kDim, pool, packing, bytes);
    layer.v = random_weight(mixed, 256, kDim, pool, packing, bytes);
    layer.o = random_weight(DType::q4_k, kDim, kDim, pool, packing, bytes);
    layer.gate = random_weight(DType::q4_k, kHidden, kDim, pool, packing, bytes);
    layer.up = random_weight(DType::q4_k, kHidden, kDim, pool, packing, bytes);
    layer.down = random_weight(mixed, kDim, kHidden, pool, packing, bytes);
    model.layers.push_back(std::move(layer));
  }
  model.head = random_weight(DType::q6_k, kVocabulary, kDim, pool, packing, bytes);
  std::printf("repacking all weights: %.2f s\n", packing);
  return model;
}

// Runs every product of a step of `rows` rows, one of which needs logits.
void step(Context& context, const Model& model, std::size_t rows) {
  static std::vector<float> x, y, gate, up, logits;
  x.assign(rows * kDim, 0.5f);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 37) - 18;
  y.resize(rows * kDim);
  gate.resize(rows * kHidden);
  up.resize(rows * kHidden);
  logits.resize(kVocabulary);
  const std::vector<float> ones(kDim, 1);
  for (const Layer& layer : model.layers) {
    rms_norm(context, x, ones, 1e-6f, y);
    matmul(context, x, layer.q, {}, y);
    matmul(context, x, layer.k, {}, {gate.data(), rows * 256});
    matmul(context, x, layer.v, {}, {up.data(), rows * 256});
    matmul(context, x, layer.o, {}, y);
    rms_norm(context, x, ones, 1e-6f, y);
    matmul(context, x, layer.gate, {}, gate);
    matmul(context, x, layer.up, {}, up);
    activate(context, kvasir::ops::Activation::silu, gate, up, gate);
    matmul(context, gate, layer.down, {}, y);
    add(context, y, y);
  }
  matmul(context, {x.data(), kDim}, model.head, {}, logits);
}

void measure_attention(Context& context, int rows, int computed) {
  const int num_tokens = rows + computed;
  const int num_blocks = (num_tokens + 15) / 16;
  kvasir::ops::KvLayer layer = {.type = kvasir::ops::KvType::f16, .num_kv_heads = 2, .head_dim = 128};
  std::vector<std::byte> k(static_cast<std::size_t>(num_blocks * layer.block_bytes()));
  std::vector<std::byte> v = k;
  layer.k = k.data();
  layer.v = v.data();
  std::vector<std::int32_t> blocks;
  for (int i = 0; i < num_blocks; ++i) blocks.push_back(i);
  const kvasir::ops::KvSlice slices[] = {{0, rows, computed, blocks}};
  const std::vector<float> q(static_cast<std::size_t>(rows) * kDim, 0.1f);
  std::vector<float> out(q.size());
  const double s = best_of(5, [&] {
    paged_attention(context,
                    {.layer = layer, .slices = slices, .q = q, .out = out, .num_heads = 12, .scale = 1});
  });
  std::printf("attention of %4d rows after %5d tokens: %8.3f ms, %7.2f ms for %d layers\n", rows, computed,
              1e3 * s, 1e3 * s * kLayers, kLayers);
}

constexpr std::size_t kNumRows[] = {1, 2, 4, 8, 16, 24, 32, 64, 128, 512};

// Measures bytes/s of weights with one row, and 10^9 multiplications/s with increasing numbers of rows.
void measure_type(Context& context, DType type) {
  double packing = 0;
  std::vector<std::byte> bytes;
  const Weight w = random_weight(type, kHidden, kDim, context.pool(), packing, bytes);
  const auto weight_bytes = static_cast<double>(kvasir::tensor::bytes_of(type, std::int64_t{kHidden} * kDim));
  std::printf("%-6s", kvasir::tensor::info(type).name.data());
  for (const std::size_t rows : kNumRows) {
    const std::vector<float> x(rows * kDim, 0.3f);
    std::vector<float> y(rows * kHidden);
    const double s = best_of(rows < 32 ? 20 : 5, [&] { matmul(context, x, w, {}, y); });
    if (rows == 1) std::printf(" %5.1f GB/s;", weight_bytes / s * 1e-9);
    std::printf(" %5.0f", static_cast<double>(rows) * kDim * kHidden / s * 1e-9);
  }
  std::printf("\n");
}

// Measures how fast all threads together read from memory that no cache holds.
void measure_bandwidth(ComputePool& pool) {
  constexpr std::int64_t kWords = std::int64_t{1} << 27;
  kvasir::tensor::Buffer buffer(kWords * 8);
  const auto* words = reinterpret_cast<const std::uint64_t*>(buffer.data());
  std::vector<std::uint64_t> sums(1024);
  const auto read = [&](int piece, int /*thread*/) {
    const std::int64_t size = kWords / 1024;
    std::uint64_t sum[8] = {};
    for (std::int64_t i = piece * size; i < (piece + 1) * size; i += 8) {
      for (int j = 0; j < 8; ++j) sum[j] ^= words[i + j];
    }
    for (const std::uint64_t one : sum) sums[static_cast<std::size_t>(piece)] ^= one;
  };
  pool.run(1024, [&](int piece, int /*thread*/) {
    std::memset(buffer.data() + piece * (kWords / 128), 1, kWords / 128);
  });
  const double s = best_of(5, [&] { pool.run(1024, read); });
  std::printf("reading memory: %.1f GB/s%s\n", kWords * 8 / s * 1e-9, sums[0] == 1 ? " " : "");
}

}  // namespace

int main(int argc, char** argv) {
  const int num_threads =
      argc > 1 ? std::atoi(argv[1]) : static_cast<int>(std::thread::hardware_concurrency());
  Isa isa = kvasir::ops::best_isa();
  for (Isa one : kvasir::ops::supported_isas()) {
    if (argc > 2 && name(one) == std::string_view(argv[2])) isa = one;
  }
  const std::string_view asked = argc > 3 ? argv[3] : "fast";
  precision = asked == "fine" ? Precision::fine : Precision::fast;
  ComputePool pool(num_threads);
  Context context(pool, isa);
  std::printf("%d threads, %s, %s\n", num_threads, std::string(name(isa)).c_str(),
              argc > 3 ? argv[3] : "fast");
  measure_bandwidth(pool);
  std::printf("rows  ");
  for (const std::size_t rows : kNumRows) std::printf(" %zu", rows);
  std::printf("\n");
  for (const DType type :
       {DType::q4_k, DType::q6_k, DType::q4_0, DType::q4_1, DType::q5_k, DType::q8_0, DType::f16}) {
    measure_type(context, type);
  }
  measure_attention(context, 1, 1000);
  measure_attention(context, 1, 8000);
  measure_attention(context, 512, 0);
  measure_attention(context, 512, 2048);
  const Model model = random_model(pool);
  for (const std::size_t rows : kNumRows) {
    const double s = best_of(rows < 64 ? 5 : 2, [&] { step(context, model, rows); });
    std::printf("step of %3zu rows: %8.1f ms, %6.1f tokens/s\n", rows, 1e3 * s,
                static_cast<double>(rows) / s);
  }
}
