#include "model/checkpoint/packed_fp8.h"

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "ops/quant/dequantize.h"

namespace kvasir::model {

using base::ErrorCode;

namespace {

// An e4m3 number has a sign, 4 exponent bits with bias 7, and 3 mantissa bits. There are no infinities. A
// number whose exponent and mantissa are all ones is NaN.
std::array<float, 256> make_e4m3_table() {
  std::array<float, 256> values{};
  for (int bits = 0; bits < 256; ++bits) {
    const int exponent = bits >> 3 & 15;
    const int mantissa = bits & 7;
    const float size = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                     : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
    const float value = (bits & 0x7F) == 0x7F ? std::numeric_limits<float>::quiet_NaN() : size;
    values[static_cast<std::size_t>(bits)] = (bits & 0x80) != 0 ? -value : value;
  }
  return values;
}

// A grid of scales. Each scale is for `height` x `width` weights.
struct ScaleGrid {
  std::vector<float> values;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t cols = 0;  // columns of the grid

  float at(std::int64_t row, std::int64_t col) const {
    return values[static_cast<std::size_t>(row / height * cols + col / width)];
  }
};

constexpr std::int64_t kSquare = 128;

base::Result<ScaleGrid> read_scales(const WeightFile& file, const std::string& name,
                                    const tensor::Shape& shape) {
  const bool squares = file.contains(name + "_scale_inv");
  const std::string stored = name + (squares ? "_scale_inv" : "_scale");
  TRY(const tensor::TensorView view, file.find(stored));
  ScaleGrid grid{.values = std::vector<float>(static_cast<std::size_t>(tensor::num_elems(view.shape)))};
  ops::dequantize(view.type, view.data, grid.values);
  const auto rows = shape[0];
  const auto cols = shape[1];
  if (squares) {
    grid.height = grid.width = kSquare;
    grid.cols = (cols + kSquare - 1) / kSquare;
    if (view.shape == tensor::Shape{(rows + kSquare - 1) / kSquare, grid.cols}) return grid;
  } else {
    const bool each_row = std::ssize(grid.values) == rows && rows > 1;
    grid.height = each_row ? 1 : rows;
    grid.width = cols;
    grid.cols = 1;
    if (each_row || grid.values.size() == 1) return grid;
  }
  return base::error(ErrorCode::corrupt, "tensor {:?} has shape [{}] for a matrix of [{}]", stored,
                     fmt::join(view.shape, ", "), fmt::join(shape, ", "));
}

}  // namespace

base::Result<std::optional<UnpackedMatrix>> unpack_fp8(const WeightFile& file, const std::string& name,
                                                       const tensor::Shape& shape, tensor::DType floats) {
  CHECK(floats == tensor::DType::f32 || floats == tensor::DType::bf16, "unpacked to no float");
  TRY(const RawTensor raw, file.find_raw(name));
  if (raw.type != "F8_E4M3") return std::optional<UnpackedMatrix>();
  if (raw.shape != shape)
    return base::error(ErrorCode::corrupt, "tensor {:?} has shape [{}] where the config makes it [{}]", name,
                       fmt::join(raw.shape, ", "), fmt::join(shape, ", "));
  TRY(const ScaleGrid scales, read_scales(file, name, shape));
  static const std::array<float, 256> kValues = make_e4m3_table();
  UnpackedMatrix matrix;
  matrix.memory = tensor::Buffer(static_cast<std::size_t>(tensor::bytes_of(floats, shape[0] * shape[1])));
  matrix.view = {matrix.memory.data(), floats, shape};
  auto* singles = reinterpret_cast<float*>(matrix.memory.data());
  auto* halves = reinterpret_cast<std::uint16_t*>(matrix.memory.data());
  for (std::int64_t r = 0; r < shape[0]; ++r) {
    for (std::int64_t c = 0; c < shape[1]; ++c) {
      const std::int64_t i = r * shape[1] + c;
      const float value = kValues[std::to_integer<std::size_t>(raw.data[i])] * scales.at(r, c);
      if (floats == tensor::DType::f32)
        singles[i] = value;
      else
        halves[i] = ops::f32_to_bf16(value);
    }
  }
  return std::optional(std::move(matrix));
}

}  // namespace kvasir::model
