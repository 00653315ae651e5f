#pragma once

struct CUstream_st;

namespace kvasir::ops::cuda {

// A queue of work on the device, which runs in order. Functions that launch work are asynchronous; failures
// of the device are remembered, see failure.h.
using StreamHandle = CUstream_st*;

}  // namespace kvasir::ops::cuda
