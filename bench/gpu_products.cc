// gpu_products [--fp8] [ROWS...]: times the products of Llama-3.1-8B's layers on the first GPU in
// microseconds: cuBLASLt's fastest, our own kernel, and the time to read the weights at 4.2 TB/s.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "ops/cuda/device.h"
#include "ops/cuda/gemm.h"
#include "ops/cuda/rows.h"

namespace kvasir::ops::cuda {
namespace {

constexpr int kCopies = 6;  // more than the cache holds

struct Product {
  const char* name;
  std::int64_t out, cols;
};
constexpr Product kProducts[] = {{"qkv", 6144, 4096},
                                 {"out", 4096, 4096},
                                 {"gate, up", 28672, 4096},
                                 {"down", 4096, 14336},
                                 {"vocabulary", 128256, 4096}};

base::Result<DeviceBuffer> random_numbers(const Stream& stream, std::int64_t count) {
  TRY(DeviceBuffer buffer, DeviceBuffer::allocate(static_cast<std::size_t>(count) * 2));
  fill_random(stream.handle(), tensor::DType::bf16, buffer.data(), count, 0.05f, 1);
  return buffer;
}

base::Status measure(const std::vector<int>& rows, bool quantized) {
  const Stream stream;
  TRY(const std::unique_ptr<Gemm> gemm, Gemm::create());
  fmt::print("{:<12} {:>6} {:>10} {:>10} {:>7} {:>8} {:>8}\n", "product", "rows", "library", "own", "parts",
             "sharers", "weights");
  for (const Product& product : kProducts) {
    const std::int64_t count = product.out * product.cols;
    TRY(const DeviceBuffer w, random_numbers(stream, count * kCopies));
    TRY(const DeviceBuffer x, random_numbers(stream, 512 * product.cols));
    TRY(const DeviceBuffer y, random_numbers(stream, 512 * product.out));
    TRY(const DeviceBuffer scales, random_numbers(stream, 2 * (product.out + 512)));
    std::vector<const void*> weights;
    for (int i = 0; i < kCopies; ++i) weights.push_back(w.data() + count * (quantized ? 1 : 2) * i);
    for (const int n : rows) {
      const Gemm::Tuned tuned = gemm->tune(stream.handle(),
                                           {.x = x.data(),
                                            .w = w.data(),
                                            .y = y.data(),
                                            .x_scales = quantized ? scales.as<const float>() : nullptr,
                                            .w_scales = quantized ? scales.as<const float>() : nullptr,
                                            .rows = n,
                                            .cols = product.cols,
                                            .out = product.out},
                                           weights);
      fmt::print("{:<12} {:>6} {:>10.1f} {:>10.1f} {:>7} {:>8} {:>8.1f}\n", product.name, n,
                 1e6 * tuned.library_s, 1e6 * tuned.own_s, tuned.own.parts, tuned.own.sharers,
                 static_cast<double>(count * (quantized ? 1 : 2)) / 4.2e6);
    }
  }
  return base::ok();
}

}  // namespace
}  // namespace kvasir::ops::cuda

int main(int argc, char** argv) {
  const bool quantized = argc > 1 && std::string_view(argv[1]) == "--fp8";
  std::vector<int> rows;
  for (int i = quantized ? 2 : 1; i < argc; ++i) rows.push_back(std::clamp(std::atoi(argv[i]), 1, 512));
  if (rows.empty()) rows = {8, 16, 32, 64, 128, 192, 256, 512};
  const kvasir::base::Status measured = kvasir::ops::cuda::measure(rows, quantized);
  if (measured.ok()) return 0;
  fmt::print(stderr, "gpu_products: {}\n", measured.error().message);
  return 1;
}
