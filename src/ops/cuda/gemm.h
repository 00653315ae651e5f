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

// Matrix products through cuBLASLt, which is opened at run time, or by kernels of our own. Keeps the fastest
// way for each shape. One engine thread owns and uses it.
class Gemm {
 public:
  // What tune() has measured for one product.
  struct Tuned {
    double library_s = 0;
    double own_s = 0;  // infinite if no kernel of ours takes it
    WideShape own;
  };

  enum class Choice : std::uint8_t {
    fastest,
    // A row's result does not depend on the other rows. Every product must be one that wide_product_takes().
    invariant,
  };
  // `unavailable` if the machine has no cuBLAS of CUDA 13. What is measured is kept in `file`, and not
  // measured again; empty: it is not kept.
  static base::Result<std::unique_ptr<Gemm>> create(Choice choice = Choice::fastest,
                                                    const std::filesystem::path& file = {});
  ~Gemm();

  // Allocates nothing on the device and does not wait, so it may be recorded in a graph.
  void run(StreamHandle stream, const GemmArgs& args);
  // Whether our own kernel computes products of this shape; it can apply a gate, too.
  bool has_gate(const GemmArgs& args);
  // Gated as in WideProductArgs. Only if has_gate().
  void run_gated(StreamHandle stream, const GemmArgs& args, Activation activation);
  // Measures the candidates for the shape of `args` and keeps the fastest. Takes `weights` in turn in place
  // of args.w, so that they come from memory as in a step. Waits; overwrites y. Does nothing if products are
  // invariant, or known from the file.
  Tuned tune(StreamHandle stream, const GemmArgs& args, std::span<const void* const> weights);
  // Writes the file, if anything was measured since.
  void save();

 private:
  struct State;
  explicit Gemm(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace kvasir::ops::cuda
