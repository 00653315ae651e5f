#include "model/checkpoint/weight_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "model/arch/tensor_names.h"
#include "ops/quant/dequantize.h"

namespace kvasir::model {

using base::ErrorCode;

namespace {

bool is_float(tensor::DType type) {
  return tensor::info(type).block_elems == 1;
}

tensor::TensorView rows_of(tensor::TensorView view, RowRange rows) {
  view.data += rows.first * tensor::bytes_of(view.type, view.cols());
  view.shape = {rows.count, view.cols()};
  return view;
}

}  // namespace

std::string used_prefix(const WeightFile& file, std::string_view prefix, std::string_view name) {
  return file.contains(std::string(prefix) + std::string(name)) ? std::string(prefix) : std::string();
}

base::Result<tensor::TensorView> WeightReader::find(std::string_view name, const tensor::Shape& shape) const {
  TRY(tensor::TensorView view, file_.find(options_.prefix + std::string(name)));
  if (view.shape != shape)
    return base::error(ErrorCode::corrupt, "tensor {:?} has shape [{}] where the config makes it [{}]", name,
                       fmt::join(view.shape, ", "), fmt::join(shape, ", "));
  return view;
}

base::Result<std::vector<float>> WeightReader::vector(std::string_view name, std::int64_t size) const {
  TRY(const tensor::TensorView view, find(name, {size}));
  std::vector<float> values(static_cast<std::size_t>(size));
  ops::dequantize(view.type, view.data, values);
  return values;
}

base::Result<Norm> WeightReader::norm(std::string_view name, std::int64_t size) const {
  Norm norm;
  TRY(norm.weight, vector(name, size));
  for (float& weight : norm.weight) weight += options_.norm_offset;
  if (options_.norm == NormKind::layer) {
    TRY(norm.bias, vector(bias_name(name), size));
  }
  return norm;
}

base::Result<tensor::TensorView> WeightReader::find_rows(const std::string& name, RowRange rows,
                                                         std::int64_t cols) {
  if (!options_.transposed) {
    TRY(const tensor::TensorView view, find(name, {rows.stored, cols}));
    return rows_of(view, rows);
  }
  TRY(const tensor::TensorView stored, find(name, {cols, rows.stored}));
  if (!is_float(stored.type))
    return base::error(ErrorCode::unsupported, "tensor {:?} is {} and has to be turned", name,
                       tensor::info(stored.type).name);
  const std::int64_t size = tensor::bytes_of(stored.type, 1);
  std::byte* data = copy_space(rows.count * cols * size);
  for (std::int64_t r = 0; r < rows.count; ++r) {
    for (std::int64_t c = 0; c < cols; ++c)
      std::memcpy(data + (r * cols + c) * size, stored.data + (c * rows.stored + rows.first + r) * size,
                  static_cast<std::size_t>(size));
  }
  return tensor::TensorView{data, stored.type, {rows.count, cols}};
}

base::Result<Linear> WeightReader::find_linear(const std::string& name, RowRange rows, std::int64_t cols) {
  const tensor::DType floats =
      options_.precision == ops::Precision::exact ? tensor::DType::f32 : tensor::DType::bf16;
  TRY(std::optional<UnpackedMatrix> unpacked,
      unpack_matrix(file_, options_.packing, options_.prefix + name, {rows.stored, cols}, floats));
  Linear linear;
  if (!unpacked) {
    TRY(const tensor::TensorView view, find_rows(name, rows, cols));
    TRY(linear.weight, weight(view));
    return linear;
  }
  TRY(linear.weight, weight(rows_of(unpacked->view, rows)));
  linear.input_order = std::move(unpacked->input_order);
  if (linear.weight.borrows()) copies_.push_back(std::move(unpacked->memory));
  return linear;
}

base::Result<Linear> WeightReader::linear(const std::string& name, RowRange rows, std::int64_t cols,
                                          Bias bias) {
  TRY(Linear linear, find_linear(name, rows, cols));
  if (bias == Bias::present) {
    TRY(const std::vector<float> whole, vector(bias_name(name), rows.stored));
    linear.bias.assign(whole.begin() + rows.first, whole.begin() + rows.first + rows.count);
  }
  return linear;
}

base::Result<ops::Weight> WeightReader::weight(const tensor::TensorView& view) {
  if (options_.stop.stop_requested()) return base::error(ErrorCode::cancelled, "loading was stopped");
  return ops::Weight::prepare(view, options_.precision, &pool_);
}

base::Result<Linear> WeightReader::stacked(std::string_view name, const tensor::Shape& shape,
                                           std::int64_t index) {
  TRY(tensor::TensorView view, find(name, shape));
  view.data += index * tensor::bytes_of(view.type, shape[1] * shape[2]);
  view.shape = {shape[1], shape[2]};
  Linear linear;
  TRY(linear.weight, weight(view));
  return linear;
}

tensor::TensorView WeightReader::as_floats(const tensor::TensorView& view) {
  if (is_float(view.type)) return view;
  const std::int64_t size = tensor::num_elems(view.shape);
  std::vector<float> values(static_cast<std::size_t>(size));
  ops::dequantize(view.type, view.data, values);
  if (options_.precision == ops::Precision::exact) {
    auto* data = reinterpret_cast<float*>(copy_space(size * 4));
    std::copy(values.begin(), values.end(), data);
    return {reinterpret_cast<const std::byte*>(data), tensor::DType::f32, view.shape};
  }
  auto* data = reinterpret_cast<std::uint16_t*>(copy_space(size * 2));
  for (std::size_t i = 0; i < values.size(); ++i) data[i] = ops::f32_to_f16(values[i]);
  return {reinterpret_cast<const std::byte*>(data), tensor::DType::f16, view.shape};
}

std::byte* WeightReader::copy_space(std::int64_t bytes) {
  return copies_.emplace_back(static_cast<std::size_t>(bytes)).data();
}

}  // namespace kvasir::model
