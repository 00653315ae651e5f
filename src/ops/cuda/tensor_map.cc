#include "ops/cuda/tensor_map.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "ops/cuda/failure.h"

namespace kvasir::ops::cuda {
namespace {

using Encode = decltype(&cuTensorMapEncodeTiled);

// The driver's library is not linked, so that the program also starts without a driver.
Encode find_encode() {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result) !=
      cudaSuccess)
    return nullptr;
  return reinterpret_cast<Encode>(found);
}

}  // namespace

bool describe_matrix(const TiledMatrix& m, CUtensorMap& map) {
  static const Encode encode = find_encode();
  constexpr int kBoxBytes = 128;
  const cuuint64_t sizes[2] = {static_cast<cuuint64_t>(m.cols), static_cast<cuuint64_t>(m.rows)};
  const cuuint64_t strides[1] = {static_cast<cuuint64_t>(m.cols * m.number_bytes)};
  const cuuint32_t box[2] = {static_cast<cuuint32_t>(kBoxBytes / m.number_bytes),
                             static_cast<cuuint32_t>(m.box_rows)};
  const cuuint32_t steps[2] = {1, 1};
  const CUtensorMapDataType type =
      m.number_bytes == 1 ? CU_TENSOR_MAP_DATA_TYPE_UINT8 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  const CUresult result = encode == nullptr
                              ? CUDA_ERROR_NOT_FOUND
                              : encode(&map, type, 2, const_cast<void*>(m.matrix), sizes, strides, box, steps,
                                       CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                       CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    remember_failure(fmt::format("a matrix of {} by {} has no tensor map: the driver's status {}", m.rows,
                                 m.cols, static_cast<int>(result)));
  return result == CUDA_SUCCESS;
}

}  // namespace kvasir::ops::cuda
