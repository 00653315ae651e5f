#include "model/quantize/quantize_file.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "model/checkpoint/checkpoint.h"
#include "model/file/gguf_file.h"
#include "model/file/gguf_writer.h"
#include "model/quantize/gguf_conversion.h"
#include "ops/quant/quantize.h"

namespace kvasir::model {

using base::ErrorCode;
using tensor::DType;

namespace {

// Rows are read, quantised and written this many numbers at a time.
constexpr std::int64_t kChunkElems = std::int64_t{4} << 20;

// Returns GGUF's code (general.file_type) of a file whose matrices are mostly of this type.
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

bool is_matrix(const GgufTensor& tensor) {
  const std::string_view name = tensor.name;
  return tensor.shape.size() >= 2 && tensor.cols() >= 32 && tensor.rows() > 1 && name.ends_with(".weight") &&
         name.find("norm") == std::string_view::npos && name.find("ffn_gate_inp") == std::string_view::npos &&
         !name.starts_with("position_embd") && !name.starts_with("token_types");
}

// `kept` is the type of tensors that are not matrices.
DType type_for(const GgufTensor& tensor, DType type, DType kept) {
  if (!is_matrix(tensor)) return kept;
  if (type != DType::q8_0 && (tensor.name == "output.weight" || tensor.name == "token_embd.weight"))
    type = DType::q6_k;
  if (tensor.cols() % tensor::info(type).block_elems == 0) return type;
  return tensor.cols() % tensor::info(DType::q8_0).block_elems == 0 ? DType::q8_0 : DType::f16;
}

void copy_keys(const GgufFile& file, GgufWriter& writer) {
  for (const GgufKey& key : file.keys()) {
    if (key.name != "general.file_type" && key.name != "general.alignment" &&
        key.name != "general.quantization_version")
      writer.copy_key(key);
  }
}

class Quantizer {
 public:
  Quantizer(GgufWriter& writer, ops::ComputePool& pool) : writer_(writer), pool_(pool) {}

  // Writes the rows of a tensor from `first` on, at most a chunk, and returns how many were written.
  base::Result<std::int64_t> write_rows(const GgufTensor& tensor, DType type, std::int64_t first) {
    const std::int64_t cols = tensor.cols();
    const std::int64_t rows = std::min(tensor.rows() - first, std::max<std::int64_t>(1, kChunkElems / cols));
    const std::int64_t out_bytes = tensor::bytes_of(type, cols);
    if (tensor.is_copy() && tensor.pieces.front().type == type) {
      TRY_OK(writer_.write(
          {tensor.pieces.front().data + first * out_bytes, static_cast<std::size_t>(rows * out_bytes)}));
      return rows;
    }
    bytes_.resize(static_cast<std::size_t>(rows * out_bytes));
    floats_.resize(static_cast<std::size_t>(cols * pool_.num_threads()));
    pool_.run(static_cast<int>(rows), [&](int row, int thread) {
      const std::span<float> floats(floats_.data() + thread * cols, static_cast<std::size_t>(cols));
      tensor.read_row(first + row, floats);
      ops::quantize(type, floats, bytes_.data() + row * out_bytes);
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

// The input, with the memory that its tensors point to.
struct Source {
  std::unique_ptr<GgufFile> file;
  std::optional<Checkpoint> directory;
  std::vector<GgufTensor> tensors;
};

base::Result<Source> open_directory(const std::filesystem::path& in) {
  Source source;
  TRY(source.directory, open_checkpoint(in));
  TRY(source.tensors, gguf_tensors(*source.directory));
  return source;
}

base::Result<Source> open_file(const std::filesystem::path& in) {
  Source source;
  TRY(source.file, GgufFile::open(in));
  for (const std::string_view name : source.file->names()) {
    TRY(tensor::TensorView view, source.file->find(name));
    tensor::Shape shape = view.shape;
    source.tensors.push_back(
        {.name = std::string(name), .shape = std::move(shape), .pieces = {std::move(view)}});
  }
  return source;
}

base::Status write_tensors(const std::vector<GgufTensor>& tensors, const std::vector<DType>& types,
                           Quantizer& quantizer,
                           const std::function<void(const QuantizeProgress&)>& progress) {
  QuantizeProgress state;
  for (const GgufTensor& tensor : tensors) state.total_bytes += tensor.stored_bytes();
  std::int64_t done_bytes = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const GgufTensor& tensor = tensors[i];
    for (std::int64_t row = 0; row < tensor.rows();) {
      TRY(const std::int64_t rows, quantizer.write_rows(tensor, types[i], row));
      row += rows;
      state.read_bytes = done_bytes + tensor.stored_bytes() / tensor.rows() * row;
      state.written_bytes += tensor::bytes_of(types[i], rows * tensor.cols());
      progress(state);
    }
    done_bytes += tensor.stored_bytes();
  }
  return base::ok();
}

}  // namespace

base::Status quantize_file(const std::filesystem::path& in, const std::filesystem::path& out, DType type,
                           ops::ComputePool& pool,
                           const std::function<void(const QuantizeProgress&)>& progress) {
  std::error_code ignored;
  const bool is_directory = std::filesystem::is_directory(in, ignored);
  if (std::filesystem::equivalent(in, out, ignored))
    return base::error(ErrorCode::invalid_argument, "{} would be written over itself", in.string());
  TRY(const Source source, is_directory ? open_directory(in) : open_file(in));
  TRY(GgufWriter writer, GgufWriter::create(out));
  if (is_directory) {
    TRY_OK(write_gguf_keys(*source.directory, in, writer));
  } else {
    copy_keys(*source.file, writer);
  }
  writer.key("general.file_type", file_type(type));
  writer.key("general.quantization_version", std::uint32_t{2});
  std::vector<DType> types;
  for (const GgufTensor& tensor : source.tensors) {
    types.push_back(type_for(tensor, type, is_directory ? DType::f32 : tensor.pieces.front().type));
    writer.declare(tensor.name, types.back(), tensor.shape);
  }
  TRY_OK(writer.begin());
  Quantizer quantizer(writer, pool);
  TRY_OK(write_tensors(source.tensors, types, quantizer, progress));
  return writer.finish();
}

}  // namespace kvasir::model
