#pragma once

#include <cstddef>
#include <span>

#include "ops/cpu/compute_pool.h"
#include "ops/cpu/isa.h"
#include "tensor/buffer.h"

namespace kvasir::ops {

// What every op needs: the shared pool, the instruction set, and the caller's own scratch memory. The scratch
// grows to the largest op's need and never shrinks, so a steady state allocates nothing. Owned and used by
// one engine thread.
class Context {
 public:
  // `isa` is one of supported_isas().
  Context(ComputePool& pool, Isa isa);
  explicit Context(ComputePool& pool) : Context(pool, pool.isa()) {}

  ComputePool& pool() { return pool_; }
  Isa isa() const { return isa_; }

  // Returns at least `bytes` bytes, aligned to 64. They hold whatever the last op left, and are valid until
  // the next call.
  std::byte* scratch(std::size_t bytes);

 private:
  ComputePool& pool_;
  Isa isa_;
  tensor::Buffer scratch_;
};

}  // namespace kvasir::ops
