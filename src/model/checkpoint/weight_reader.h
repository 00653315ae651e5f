#pragma once

#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/arch/model_config.h"
#include "model/checkpoint/packed_matrix.h"
#include "model/file/weight_file.h"
#include "ops/weight.h"
#include "tensor/buffer.h"
#include "tensor/tensor_view.h"

namespace kvasir::model {

struct Linear {
  ops::Weight weight;                     // [out, in]
  std::vector<float> bias;                // [out] or empty
  std::vector<std::int32_t> input_order;  // [in]: column c is for input input_order[c]; empty: for c
};

struct Norm {
  std::vector<float> weight;  // empty: there is no such norm
  std::vector<float> bias;    // NormKind::layer only
};

// Whether a linear layer has a bias, according to the config.
enum class Bias { absent, present };

inline Bias bias_if(bool present) {
  return present ? Bias::present : Bias::absent;
}

// Rows [first, first + count) of a matrix that has `stored` rows.
struct RowRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t stored = 0;

  static RowRange all(std::int64_t rows) { return {0, rows, rows}; }
};

// The ways in which checkpoints differ in how they store tensors, and how to read them.
struct StorageOptions {
  ops::Precision precision = ops::Precision::fast;
  NormKind norm = NormKind::rms;
  float norm_offset = 0;
  bool transposed = false;
  std::string prefix;  // at the start of every name in the file
  PackingConfig packing;
  std::stop_token stop{};  // once stopped, loading fails with `cancelled` before the next tensor
};

// Returns `prefix` if the file's names begin with it, otherwise an empty string. `name` is a tensor that
// every checkpoint has.
std::string used_prefix(const WeightFile& file, std::string_view prefix, std::string_view name);

// Finds tensors of a checkpoint, checks their shapes and puts them into the form that ops read. Results may
// point into the file and into copies, which `take_copies` hands over at the end.
class WeightReader {
 public:
  WeightReader(const WeightFile& file, StorageOptions options, ops::ComputePool& pool)
      : file_(file), options_(std::move(options)), pool_(pool) {}

  base::Result<tensor::TensorView> find(std::string_view name, const tensor::Shape& shape) const;
  base::Result<std::vector<float>> vector(std::string_view name, std::int64_t size) const;
  base::Result<Norm> norm(std::string_view name, std::int64_t size) const;
  base::Result<Linear> linear(const std::string& name, RowRange rows, std::int64_t cols, Bias bias);
  base::Result<ops::Weight> weight(const tensor::TensorView& view);
  // Reads matrix `index` of a tensor [count, rows, cols].
  base::Result<Linear> stacked(std::string_view name, const tensor::Shape& shape, std::int64_t index);
  // Returns the tensor as f32, f16 or bf16. A quantised tensor is copied for this.
  tensor::TensorView as_floats(const tensor::TensorView& view);
  // Returns zeroed memory that lives as long as the weights.
  std::byte* copy_space(std::int64_t bytes);

  bool contains(std::string_view name) const { return file_.contains(options_.prefix + std::string(name)); }
  std::vector<tensor::Buffer> take_copies() { return std::move(copies_); }

 private:
  base::Result<Linear> find_linear(const std::string& name, RowRange rows, std::int64_t cols);
  base::Result<tensor::TensorView> find_rows(const std::string& name, RowRange rows, std::int64_t cols);

  const WeightFile& file_;
  StorageOptions options_;
  ops::ComputePool& pool_;
  std::vector<tensor::Buffer> copies_;
};

}  // namespace kvasir::model
