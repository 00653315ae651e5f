#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/file/weight_file.h"
#include "tensor/buffer.h"
#include "tensor/tensor_view.h"

namespace kvasir::model {

// How another tool packed the matrices of a safetensors checkpoint.
enum class PackedFormat : std::uint8_t {
  none,
  gptq,  // int4 along the inputs, zero points, perhaps with groups in another order than the inputs
  awq,   // int4 along the outputs, interleaved
  fp8,   // e4m3 with a scale for the matrix, a row or a square of it
};

struct PackingConfig {
  PackedFormat format = PackedFormat::none;
  int group_size = 0;         // inputs that share a scale; gptq and awq, -1: all of them
  int zero_point_offset = 0;  // what the stored zero points lack
};

// From config.json's quantization_config; PackedFormat::none where there is none.
base::Result<PackingConfig> read_packing(const base::json::object& config);

// A packed matrix in a form that ops read: int4 becomes Q4_1, whose zero points are rounded to 11 bits and
// whose scales are the file's own; fp8 becomes `floats`.
struct UnpackedMatrix {
  tensor::TensorView view;  // [out, in], in `memory`
  tensor::Buffer memory;
  std::vector<std::int32_t> input_order;  // column c holds the weights of input input_order[c]; empty: c
};

// Nothing where the file holds the matrix called `name` as it is. `shape` is [out, in].
base::Result<std::optional<UnpackedMatrix>> unpack_matrix(const WeightFile& file,
                                                          const PackingConfig& packing,
                                                          const std::string& name, const tensor::Shape& shape,
                                                          tensor::DType floats);

}  // namespace kvasir::model
