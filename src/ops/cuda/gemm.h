#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "ops/cuda/device.h"
#include "tensor/dtype.h"

namespace kvasir::ops::cuda {

// y = scale * x wᵀ + bias, or that added to what y holds, which quantised ones are not. All memory is the
// device's.
struct GemmArgs {
  const void* x = nullptr;     // [rows, cols], of `type`
  const void* w = nullptr;     // [out, cols], likewise
  const void* bias = nullptr;  // [out], of `type`, or null
  void* y = nullptr;           // [rows, out], of `out_type`
  // Both or none: x and w are e4m3, and the result is multiplied with its row's and its column's.
  const float* x_scales = nullptr;  // [rows]
  const float* w_scales = nullptr;  // [out]
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t out = 0;
  tensor::DType type = tensor::DType::bf16;  // f32, f16 or bf16
  tensor::DType out_type = tensor::DType::bf16;
  float scale = 1;
  enum class Into : std::uint8_t { overwrite, add } into = Into::overwrite;
};

// Matrix products through cuBLASLt, which is opened at run time. For each shape it keeps the algorithm that
// it was told to, or found to be the fastest. One engine thread owns and uses it.
class Gemm {
 public:
  // `unavailable` where the machine has no cuBLAS of CUDA 13.
  static base::Result<std::unique_ptr<Gemm>> create();
  ~Gemm();

  // Allocates nothing on the device and does not wait, so it may be recorded in a graph.
  void run(StreamHandle stream, const GemmArgs& args);
  // Measures the candidates for the shape of `args` and keeps the fastest. `weights` stand in for args.w one
  // after another, so that they come from memory as in a step. Waits; overwrites y.
  void tune(StreamHandle stream, const GemmArgs& args, std::span<const void* const> weights);

 private:
  struct State;
  explicit Gemm(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace kvasir::ops::cuda
