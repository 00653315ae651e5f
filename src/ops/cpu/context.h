#pragma once

#include <cstddef>
#include <span>

#include "ops/cpu/compute_pool.h"
#include "ops/cpu/isa.h"
#include "tensor/buffer.h"

namespace kvasir::ops {

// What ops run with: the shared pool, the instruction set, and the caller's own scratch memory. The scratch
// grows to the largest op and stays, so that a steady state allocates nothing. One engine thread owns and
// uses it.
class Context {
 public:
  // `isa` is one of supported_isas().
  Context(ComputePool& pool, Isa isa);
  explicit Context(ComputePool& pool) : Context(pool, pool.isa()) {}

  ComputePool& pool() { return pool_; }
  Isa isa() const { return isa_; }

  // At least `bytes`, aligned to 64; holds whatever the last op left and is valid until the next call.
  std::byte* scratch(std::size_t bytes);

 private:
  ComputePool& pool_;
  Isa isa_;
  tensor::Buffer scratch_;
};

}  // namespace kvasir::ops
