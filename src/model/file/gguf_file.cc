#include "model/file/gguf_file.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "base/check.h"
#include "model/file/byte_reader.h"
#include "model/file/tensor_layout.h"

namespace kvasir::model {

using base::ErrorCode;
using tensor::DType;

namespace {

// These limits are far above any real file. They keep a hostile header from using much memory or time.
constexpr std::uint64_t kMaxArrayElems = std::uint64_t{1} << 23;
constexpr std::uint64_t kMaxKeys = std::uint64_t{1} << 16;
constexpr std::uint64_t kMaxTensors = std::uint64_t{1} << 18;
constexpr std::int64_t kMaxAlignment = std::int64_t{1} << 20;

// The types of values in GGUF's key-value part.
enum class ValueType : std::uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64,
};

struct FileType {
  std::uint32_t code;
  std::string_view name;
  std::optional<DType> type;
};

constexpr std::array kFileTypes = {
    FileType{0, "F32", DType::f32},          FileType{1, "F16", DType::f16},
    FileType{2, "Q4_0", DType::q4_0},        FileType{3, "Q4_1", DType::q4_1},
    FileType{6, "Q5_0", DType::q5_0},        FileType{7, "Q5_1", DType::q5_1},
    FileType{8, "Q8_0", DType::q8_0},        FileType{9, "Q8_1", std::nullopt},
    FileType{10, "Q2_K", DType::q2_k},       FileType{11, "Q3_K", DType::q3_k},
    FileType{12, "Q4_K", DType::q4_k},       FileType{13, "Q5_K", DType::q5_k},
    FileType{14, "Q6_K", DType::q6_k},       FileType{15, "Q8_K", std::nullopt},
    FileType{16, "IQ2_XXS", DType::iq2_xxs}, FileType{17, "IQ2_XS", std::nullopt},
    FileType{18, "IQ3_XXS", DType::iq3_xxs}, FileType{19, "IQ1_S", std::nullopt},
    FileType{20, "IQ4_NL", DType::iq4_nl},   FileType{21, "IQ3_S", std::nullopt},
    FileType{22, "IQ2_S", std::nullopt},     FileType{23, "IQ4_XS", DType::iq4_xs},
    FileType{24, "I8", std::nullopt},        FileType{25, "I16", std::nullopt},
    FileType{26, "I32", std::nullopt},       FileType{27, "I64", std::nullopt},
    FileType{28, "F64", std::nullopt},       FileType{29, "IQ1_M", std::nullopt},
    FileType{30, "BF16", DType::bf16},       FileType{34, "TQ1_0", std::nullopt},
    FileType{35, "TQ2_0", std::nullopt},     FileType{39, "MXFP4", std::nullopt},
};

base::Result<DType> tensor_type(std::string_view tensor, std::uint32_t code) {
  for (const FileType& type : kFileTypes) {
    if (type.code != code) continue;
    if (type.type) return *type.type;
    return base::error(ErrorCode::unsupported, "tensor {:?} has type {}, which Kvasir does not run", tensor,
                       type.name);
  }
  return base::error(ErrorCode::unsupported, "tensor {:?} has the unknown type {}", tensor, code);
}

template <class T>
base::Result<std::int64_t> read_integer(ByteReader& in) {
  TRY(const T value, in.read<T>());
  if constexpr (std::is_same_v<T, std::uint64_t>) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return base::error(ErrorCode::corrupt, "the integer {} is too large", value);
  }
  return static_cast<std::int64_t>(value);
}

bool is_integer(ValueType type) {
  return type <= ValueType::i32 || type == ValueType::u64 || type == ValueType::i64;
}

bool is_float(ValueType type) {
  return type == ValueType::f32 || type == ValueType::f64;
}

base::Result<std::int64_t> read_integer(ByteReader& in, ValueType type) {
  switch (type) {
    case ValueType::u8:
      return read_integer<std::uint8_t>(in);
    case ValueType::i8:
      return read_integer<std::int8_t>(in);
    case ValueType::u16:
      return read_integer<std::uint16_t>(in);
    case ValueType::i16:
      return read_integer<std::int16_t>(in);
    case ValueType::u32:
      return read_integer<std::uint32_t>(in);
    case ValueType::i32:
      return read_integer<std::int32_t>(in);
    case ValueType::u64:
      return read_integer<std::uint64_t>(in);
    default:
      return read_integer<std::int64_t>(in);
  }
}

base::Result<double> read_float(ByteReader& in, ValueType type) {
  if (type == ValueType::f64) return in.read<double>();
  TRY(const float value, in.read<float>());
  return static_cast<double>(value);
}

base::Result<bool> read_boolean(ByteReader& in) {
  TRY(const auto value, in.read<std::uint8_t>());
  if (value > 1) return base::error(ErrorCode::corrupt, "{} is no boolean", value);
  return value == 1;
}

// Memory grows only as elements are read, so a false count costs nothing.
base::Result<MetadataValue> read_array(ByteReader& in) {
  TRY(const auto code, in.read<std::uint32_t>());
  TRY(const auto count, in.read<std::uint64_t>());
  const auto type = static_cast<ValueType>(code);
  if (count > kMaxArrayElems)
    return base::error(ErrorCode::corrupt, "an array of {} elements; at most {} may be", count,
                       kMaxArrayElems);
  if (count > in.remaining())
    return base::error(ErrorCode::corrupt, "the file is cut off: it ends inside an array of {} elements",
                       count);
  if (type == ValueType::string) {
    std::vector<std::string_view> values;
    for (std::uint64_t i = 0; i < count; ++i) {
      TRY(values.emplace_back(), in.read_string());
    }
    return MetadataValue(std::move(values));
  }
  if (is_float(type)) {
    std::vector<double> values;
    for (std::uint64_t i = 0; i < count; ++i) {
      TRY(values.emplace_back(), read_float(in, type));
    }
    return MetadataValue(std::move(values));
  }
  if (is_integer(type) || type == ValueType::boolean) {
    const ValueType stored = type == ValueType::boolean ? ValueType::u8 : type;
    std::vector<std::int64_t> values;
    for (std::uint64_t i = 0; i < count; ++i) {
      TRY(values.emplace_back(), read_integer(in, stored));
    }
    return MetadataValue(std::move(values));
  }
  return base::error(ErrorCode::unsupported, "an array whose elements have the unknown type {}", code);
}

base::Result<MetadataValue> read_value(ByteReader& in) {
  TRY(const auto code, in.read<std::uint32_t>());
  const auto type = static_cast<ValueType>(code);
  if (is_integer(type)) {
    TRY(const std::int64_t value, read_integer(in, type));
    return MetadataValue(value);
  }
  if (is_float(type)) {
    TRY(const double value, read_float(in, type));
    return MetadataValue(value);
  }
  switch (type) {
    case ValueType::boolean: {
      TRY(const bool value, read_boolean(in));
      return MetadataValue(value);
    }
    case ValueType::string: {
      TRY(const std::string_view value, in.read_string());
      return MetadataValue(value);
    }
    case ValueType::array:
      return read_array(in);
    default:
      return base::error(ErrorCode::corrupt, "its value has the unknown type {}", code);
  }
}

struct Header {
  std::uint64_t num_tensors = 0;
  std::uint64_t num_keys = 0;
};

base::Result<Header> read_header(ByteReader& in) {
  TRY(const auto magic, in.read<std::uint32_t>());
  if (magic != 0x46554747) return base::error(ErrorCode::corrupt, "not a GGUF file");
  TRY(const auto version, in.read<std::uint32_t>());
  if ((version & 0xffff) == 0 && version != 0)
    return base::error(ErrorCode::unsupported, "it is big-endian; Kvasir reads little-endian GGUF files");
  if (version != 2 && version != 3)
    return base::error(ErrorCode::unsupported, "it has GGUF version {}; Kvasir reads 2 and 3", version);
  Header header;
  TRY(header.num_tensors, in.read<std::uint64_t>());
  TRY(header.num_keys, in.read<std::uint64_t>());
  if (header.num_tensors > kMaxTensors)
    return base::error(ErrorCode::corrupt, "it claims {} tensors; at most {} may be", header.num_tensors,
                       kMaxTensors);
  if (header.num_keys > kMaxKeys)
    return base::error(ErrorCode::corrupt, "it claims {} keys; at most {} may be", header.num_keys, kMaxKeys);
  return header;
}

struct TensorRecord {
  std::string_view name;
  tensor::TensorView view;
  std::uint64_t offset = 0;  // from the start of the data part
  std::uint64_t bytes = 0;
};

base::Result<TensorRecord> read_tensor_record(ByteReader& in) {
  TensorRecord record;
  TRY(record.name, in.read_string());
  TRY(const auto num_dims, in.read<std::uint32_t>());
  if (num_dims < 1 || num_dims > 4)
    return base::error(ErrorCode::corrupt, "tensor {:?} has {} dimensions; 1 to 4 may be", record.name,
                       num_dims);
  record.view.shape.resize(num_dims);
  // The file lists the innermost dimension first.
  for (std::uint32_t i = num_dims; i-- > 0;) {
    TRY(record.view.shape[i], read_integer<std::uint64_t>(in));
  }
  TRY(const auto code, in.read<std::uint32_t>());
  TRY(record.offset, in.read<std::uint64_t>());
  TRY(record.view.type, tensor_type(record.name, code));
  TRY(const std::int64_t bytes, checked_bytes(record.name, record.view.type, record.view.shape));
  record.bytes = static_cast<std::uint64_t>(bytes);
  return record;
}

// Overlapping tensors would let a small file ask for any amount of memory.
base::Status check_no_overlap(std::vector<TensorRecord>& records) {
  std::sort(records.begin(), records.end(),
            [](const TensorRecord& a, const TensorRecord& b) { return a.offset < b.offset; });
  for (std::size_t i = 1; i < records.size(); ++i) {
    const TensorRecord& before = records[i - 1];
    if (records[i].offset - before.offset < before.bytes)
      return base::error(ErrorCode::corrupt, "tensors {:?} and {:?} overlap", before.name, records[i].name);
  }
  return base::ok();
}

base::Result<std::uint64_t> data_alignment(const Metadata& metadata) {
  if (!metadata.contains("general.alignment")) return 32;
  const std::int64_t alignment = metadata.integer("general.alignment").value_or(0);
  if (alignment < 8 || alignment > kMaxAlignment || (alignment & (alignment - 1)) != 0)
    return base::error(ErrorCode::corrupt, "general.alignment is not a power of two from 8 to {}",
                       kMaxAlignment);
  return static_cast<std::uint64_t>(alignment);
}

}  // namespace

std::uint32_t gguf_type_code(DType type) {
  for (const FileType& known : kFileTypes)
    if (known.type == type) return known.code;
  CHECK(false, "{} has no code in GGUF", tensor::info(type).name);
}

base::Result<std::unique_ptr<GgufFile>> GgufFile::open(const std::filesystem::path& path) {
  TRY(MappedFile mapped, MappedFile::open(path));
  std::unique_ptr<GgufFile> file(new GgufFile(std::move(mapped)));
  if (auto status = file->read(); !status.ok())
    return base::error(status.error().code, "{}: {}", path.string(), status.error().message);
  return file;
}

base::Status GgufFile::read() {
  const std::span<const std::byte> bytes = file_.bytes();
  ByteReader in(bytes);
  TRY(const Header header, read_header(in));
  for (std::uint64_t i = 0; i < header.num_keys; ++i) {
    const auto start = in.position();
    TRY(const std::string_view key, in.read_string());
    auto value = read_value(in);
    if (!value.ok()) return base::error(value.error().code, "key {:?}: {}", key, value.error().message);
    if (!metadata_.add(key, std::move(*value)))
      return base::error(ErrorCode::corrupt, "key {:?} stands twice", key);
    keys_.push_back({key, bytes.subspan(start, in.position() - start)});
  }
  std::vector<TensorRecord> records;
  for (std::uint64_t i = 0; i < header.num_tensors; ++i) {
    TRY(records.emplace_back(), read_tensor_record(in));
  }

  TRY(const std::uint64_t alignment, data_alignment(metadata_));
  const std::uint64_t data_start = (in.position() + alignment - 1) / alignment * alignment;
  const std::uint64_t data_bytes = bytes.size() > data_start ? bytes.size() - data_start : 0;
  TRY_OK(check_no_overlap(records));
  for (TensorRecord& record : records) {
    if (record.offset % alignment != 0)
      return base::error(ErrorCode::corrupt, "tensor {:?} starts at {}, not a multiple of {}", record.name,
                         record.offset, alignment);
    if (record.bytes > data_bytes || record.offset > data_bytes - record.bytes)
      return base::error(ErrorCode::corrupt,
                         "the file is cut off: it ends before the end of tensor {:?} ({} bytes at {})",
                         record.name, record.bytes, record.offset);
    record.view.data = bytes.data() + data_start + record.offset;
    if (!tensors_.emplace(record.name, std::move(record.view)).second)
      return base::error(ErrorCode::corrupt, "tensor {:?} stands twice", record.name);
  }
  return base::ok();
}

base::Result<tensor::TensorView> GgufFile::find(std::string_view name) const {
  const auto it = tensors_.find(name);
  if (it == tensors_.end()) return base::error(ErrorCode::not_found, "the file has no tensor {:?}", name);
  return it->second;
}

base::Result<RawTensor> GgufFile::find_raw(std::string_view name) const {
  TRY(const tensor::TensorView view, find(name));
  return RawTensor{tensor::info(view.type).name, view.shape, view.data};
}

std::vector<std::string_view> GgufFile::names() const {
  std::vector<std::string_view> names;
  names.reserve(tensors_.size());
  for (const auto& [name, view] : tensors_) names.push_back(name);
  return names;
}

}  // namespace kvasir::model
