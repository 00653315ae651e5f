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
  gptq,  // int4 along the inputs, with zero points; a group's inputs may be anywhere in a row
  awq,   // int4 along the outputs, interleaved
  fp8,   // e4m3 with one scale for the matrix, for each row, or for each square
};

struct PackingConfig {
  PackedFormat format = PackedFormat::none;
  int group_size = 0;         // gptq and awq: how many inputs share a scale; -1: all
  int zero_point_offset = 0;  // is added to the stored zero points
};

// Reads config.json's quantization_config. The format is PackedFormat::none if there is no such field.
base::Result<PackingConfig> read_packing(const base::json::object& config);

// A packed matrix in a form that ops read. int4 becomes Q4_1 with the file's scales and with zero points
// rounded to 11 bits. fp8 becomes the float type that the caller asked for.
struct UnpackedMatrix {
  tensor::TensorView view;  // [out, in], in `memory`
  tensor::Buffer memory;
  std::vector<std::int32_t> input_order;  // column c is for input input_order[c]; empty: for input c
};

// Unpacks the matrix `name`, whose shape is [out, in]. Returns nothing if the file does not store it packed.
base::Result<std::optional<UnpackedMatrix>> unpack_matrix(const WeightFile& file,
                                                          const PackingConfig& packing,
                                                          const std::string& name, const tensor::Shape& shape,
                                                          tensor::DType floats);

}  // namespace kvasir::model
