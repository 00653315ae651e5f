#include "model/quantize_file.h"

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include "model/gguf_file.h"
#include "model/gguf_writer.h"
#include "ops/dequantize.h"
#include "ops/quantize.h"

namespace kvasir::model {

using base::ErrorCode;
using tensor::DType;

namespace {

// Rows are read, quantised and written this many numbers at a time.
constexpr std::int64_t kChunkElems = std::int64_t{4} << 20;

// What other readers of the format call a file of mostly this type.
std::uint32_t file_type(DType type) {
  switch (type) {
    case DType::q8_0:
      return 7;
    case DType::q4_0:
      return 2;
    default:
      return 15;
  }
}

bool is_matrix(std::string_view name, const tensor::TensorView& view) {
  return view.shape.size() >= 2 && view.cols() >= 32 && view.rows() > 1 && name.ends_with(".weight") &&
         name.find("norm") == std::string_view::npos && name.find("ffn_gate_inp") == std::string_view::npos &&
         !name.starts_with("position_embd") && !name.starts_with("token_types");
}

DType type_for(std::string_view name, const tensor::TensorView& view, DType type) {
  if (!is_matrix(name, view)) return view.type;
  if (type != DType::q8_0 && (name == "output.weight" || name == "token_embd.weight")) type = DType::q6_k;
  if (view.cols() % tensor::info(type).block_elems == 0) return type;
  return view.cols() % tensor::info(DType::q8_0).block_elems == 0 ? DType::q8_0 : DType::f16;
}

struct Plan {
  std::string_view name;
  tensor::TensorView view;
  DType type;
};

void copy_keys(const GgufFile& file, DType type, GgufWriter& writer) {
  for (const GgufKey& key : file.keys()) {
    if (key.name != "general.file_type" && key.name != "general.alignment" &&
        key.name != "general.quantization_version")
      writer.copy_key(key);
  }
  writer.key("general.file_type", file_type(type));
  writer.key("general.quantization_version", std::uint32_t{2});
}

class Quantizer {
 public:
  Quantizer(GgufWriter& writer, ops::ComputePool& pool) : writer_(writer), pool_(pool) {}

  // The next rows of a tensor, as many as its chunk has.
  base::Result<std::int64_t> write_rows(const Plan& plan, std::int64_t first) {
    const std::int64_t cols = plan.view.cols();
    const std::int64_t rows =
        std::min(plan.view.rows() - first, std::max<std::int64_t>(1, kChunkElems / cols));
    const std::int64_t in_bytes = tensor::bytes_of(plan.view.type, cols);
    const std::int64_t out_bytes = tensor::bytes_of(plan.type, cols);
    const std::byte* in = plan.view.data + first * in_bytes;
    if (plan.type == plan.view.type) {
      TRY_OK(writer_.write({in, static_cast<std::size_t>(rows * in_bytes)}));
      return rows;
    }
    bytes_.resize(static_cast<std::size_t>(rows * out_bytes));
    floats_.resize(static_cast<std::size_t>(cols * pool_.num_threads()));
    pool_.run(static_cast<int>(rows), [&](int row, int thread) {
      const std::span<float> floats(floats_.data() + thread * cols, static_cast<std::size_t>(cols));
      ops::dequantize(plan.view.type, in + row * in_bytes, floats);
      ops::quantize(plan.type, floats, bytes_.data() + row * out_bytes);
    });
    TRY_OK(writer_.write(bytes_));
    return rows;
  }

 private:
  GgufWriter& writer_;
  ops::ComputePool& pool_;
  std::vector<std::byte> bytes_;
  std::vector<float> floats_;
};

}  // namespace

base::Status quantize_file(const std::filesystem::path& in, const std::filesystem::path& out, DType type,
                           ops::ComputePool& pool,
                           const std::function<void(const QuantizeProgress&)>& progress) {
  std::error_code ignored;
  if (std::filesystem::is_directory(in, ignored))
    return base::error(ErrorCode::unsupported, "{}: a directory; quantize reads GGUF files", in.string());
  if (std::filesystem::equivalent(in, out, ignored))
    return base::error(ErrorCode::invalid_argument, "{} would be written over itself", in.string());
  TRY(const std::unique_ptr<GgufFile> file, GgufFile::open(in));
  TRY(GgufWriter writer, GgufWriter::create(out));
  copy_keys(*file, type, writer);
  std::vector<Plan> plans;
  QuantizeProgress state;
  for (const std::string_view name : file->names()) {
    TRY(tensor::TensorView view, file->find(name));
    state.total_bytes += view.bytes();
    const DType target = type_for(name, view, type);
    writer.declare(name, target, view.shape);
    plans.push_back({name, std::move(view), target});
  }
  TRY_OK(writer.begin());
  Quantizer quantizer(writer, pool);
  for (const Plan& plan : plans) {
    for (std::int64_t row = 0; row < plan.view.rows();) {
      TRY(const std::int64_t rows, quantizer.write_rows(plan, row));
      row += rows;
      state.read_bytes += tensor::bytes_of(plan.view.type, rows * plan.view.cols());
      state.written_bytes += tensor::bytes_of(plan.type, rows * plan.view.cols());
      progress(state);
    }
  }
  return writer.finish();
}

}  // namespace kvasir::model
