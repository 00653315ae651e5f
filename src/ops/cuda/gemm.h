#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "base/result.h"
#include "ops/cuda/device.h"
#include "ops/cuda/gemm_args.h"
#include "ops/cuda/product_wide.h"

namespace kvasir::ops::cuda {

// Matrix products, either through cuBLASLt, which is opened at run time, or by the kernels of product_wide.h.
// Remembers the fastest way for each shape. Owned and used by one engine thread.
class Gemm {
 public:
  // What tune() has measured for one product.
  struct Tuned {
    double library_s = 0;
    double own_s = 0;  // product_wide.h; infinite if it does not take the product
    WideShape own;
  };

  enum class Choice : std::uint8_t {
    fastest,
    // A row's result does not depend on the other rows. wide_product_takes() must be true of every product.
    invariant,
  };
  // Fails with `unavailable` if the machine has no cuBLAS of CUDA 13. Measurements are kept in `file`, and
  // not repeated in later runs. If `file` is empty, they are not kept.
  static base::Result<std::unique_ptr<Gemm>> create(Choice choice = Choice::fastest,
                                                    const std::filesystem::path& file = {});
  ~Gemm();

  // Does not allocate on the device and does not wait, so it may be recorded in a graph.
  void run(StreamHandle stream, const GemmArgs& args);
  // Whether the kernel of product_wide.h computes products of this shape. That kernel can also apply a gate.
  bool has_gate(const GemmArgs& args);
  // Multiplies and gates, as WideProductArgs says. Call only if has_gate().
  void run_gated(StreamHandle stream, const GemmArgs& args, Activation activation);
  // Measures the candidates for the shape of `args` and keeps the fastest. Uses `weights` in turn in place of
  // args.w, so that they are read from memory, as in a step. Waits; overwrites y. Does nothing if products
  // are invariant, or if the file has the shape.
  Tuned tune(StreamHandle stream, const GemmArgs& args, std::span<const void* const> weights);
  // Writes the file if anything was measured since it was read or written.
  void save();

 private:
  struct State;
  explicit Gemm(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace kvasir::ops::cuda
