#pragma once

struct CUstream_st;

namespace kvasir::ops::cuda {

// Where launches go: an order of work on the device. Launch functions are asynchronous; a failure of the
// device is no input's doing and crashes with a stack, at the launch or at the next wait.
using StreamHandle = CUstream_st*;

}  // namespace kvasir::ops::cuda
