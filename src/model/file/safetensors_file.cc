#include "model/file/safetensors_file.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/json.h"
#include "model/file/byte_reader.h"
#include "model/file/tensor_layout.h"

namespace kvasir::model {

using base::ErrorCode;
namespace json = base::json;

namespace {

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own bound
constexpr std::size_t kMaxDims = 8;

struct StoredType {
  std::string_view name;
  std::int64_t elem_bytes;
  std::optional<tensor::DType> type;
};

constexpr StoredType kStoredTypes[] = {
    {"F32", 4, tensor::DType::f32}, {"F16", 2, tensor::DType::f16}, {"BF16", 2, tensor::DType::bf16},
    {"F64", 8, std::nullopt},       {"I64", 8, std::nullopt},       {"I32", 4, std::nullopt},
    {"I16", 2, std::nullopt},       {"I8", 1, std::nullopt},        {"U64", 8, std::nullopt},
    {"U32", 4, std::nullopt},       {"U16", 2, std::nullopt},       {"U8", 1, std::nullopt},
    {"BOOL", 1, std::nullopt},      {"F8_E4M3", 1, std::nullopt},   {"F8_E5M2", 1, std::nullopt},
};

struct TensorRecord {
  std::string name;
  tensor::Shape shape;
  std::string stored_type;
  std::optional<tensor::DType> type;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

base::Error bad_tensor(std::string_view name, std::string_view what) {
  return base::error(ErrorCode::corrupt, "tensor {:?}: {}", name, what);
}

std::optional<std::uint64_t> as_count(const json::value& value) {
  if (const auto* number = value.if_uint64()) return *number;
  if (const auto* number = value.if_int64(); number && *number >= 0)
    return static_cast<std::uint64_t>(*number);
  return std::nullopt;
}

base::Result<tensor::Shape> read_shape(std::string_view name, const json::object& entry) {
  const auto* dims = entry.if_contains("shape") ? entry.at("shape").if_array() : nullptr;
  if (!dims || dims->size() > kMaxDims) return bad_tensor(name, "no shape");
  tensor::Shape shape;
  for (const json::value& dim : *dims) {
    const auto size = as_count(dim);
    if (!size || *size > std::uint64_t{1} << 62) return bad_tensor(name, "a dimension is no count");
    shape.push_back(static_cast<std::int64_t>(*size));
  }
  return shape;
}

// Also handles types that Kvasir does not run, because their tensors are part of the file's layout.
base::Result<std::int64_t> stored_bytes(const TensorRecord& record, const StoredType& stored) {
  if (std::find(record.shape.begin(), record.shape.end(), 0) != record.shape.end()) return 0;
  if (record.type) return checked_bytes(record.name, *record.type, record.shape);
  std::int64_t bytes = stored.elem_bytes;
  for (const std::int64_t dim : record.shape) {
    if (__builtin_mul_overflow(bytes, dim, &bytes)) return bad_tensor(record.name, "the shape is too large");
  }
  return bytes;
}

base::Result<TensorRecord> read_record(std::string_view name, const json::value& value) {
  const auto* entry = value.if_object();
  if (!entry) return bad_tensor(name, "its entry is no object");
  TensorRecord record;
  record.name = name;
  const auto* type = entry->if_contains("dtype") ? entry->at("dtype").if_string() : nullptr;
  if (!type) return bad_tensor(name, "no dtype");
  record.stored_type = std::string_view(*type);
  TRY(record.shape, read_shape(name, *entry));
  const auto* offsets = entry->if_contains("data_offsets") ? entry->at("data_offsets").if_array() : nullptr;
  if (!offsets || offsets->size() != 2) return bad_tensor(name, "no data_offsets");
  const auto begin = as_count((*offsets)[0]);
  const auto end = as_count((*offsets)[1]);
  if (!begin || !end || *begin > *end) return bad_tensor(name, "its data_offsets are no range");
  record.begin = *begin;
  record.end = *end;
  const auto* stored = std::find_if(std::begin(kStoredTypes), std::end(kStoredTypes),
                                    [&](const StoredType& t) { return t.name == record.stored_type; });
  if (stored == std::end(kStoredTypes)) return record;
  record.type = stored->type;
  TRY(const std::int64_t bytes, stored_bytes(record, *stored));
  if (static_cast<std::uint64_t>(bytes) != record.end - record.begin)
    return base::error(ErrorCode::corrupt, "tensor {:?}: {} bytes where its shape and type need {}", name,
                       record.end - record.begin, bytes);
  return record;
}

// The format demands that tensors follow one another and fill the file. This check also finds a file that was
// cut off.
base::Status check_layout(std::vector<TensorRecord>& records, std::uint64_t data_bytes) {
  std::sort(records.begin(), records.end(), [](const TensorRecord& a, const TensorRecord& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t filled = 0;
  for (const TensorRecord& record : records) {
    if (record.begin != filled)
      return base::error(ErrorCode::corrupt, "tensor {:?} starts at {}, the one before it ends at {}",
                         record.name, record.begin, filled);
    filled = record.end;
  }
  if (filled > data_bytes)
    return base::error(ErrorCode::corrupt, "the file is cut off: its tensors take {} bytes, and {} are there",
                       filled, data_bytes);
  if (filled < data_bytes)
    return base::error(ErrorCode::corrupt, "its tensors take {} bytes, and {} more follow them", filled,
                       data_bytes - filled);
  return base::ok();
}

base::Result<std::vector<TensorRecord>> read_records(std::string_view header) {
  TRY(const json::value parsed, base::parse_json(header));
  const auto* entries = parsed.if_object();
  if (!entries) return base::error(ErrorCode::corrupt, "the header is no JSON object");
  std::vector<TensorRecord> records;
  for (const auto& [name, value] : *entries) {
    if (name == "__metadata__") continue;
    TRY(records.emplace_back(), read_record(name, value));
  }
  return records;
}

base::Error in_file(const std::filesystem::path& path, const base::Error& error) {
  // Any JSON error in a weight file means that the file is damaged.
  const ErrorCode code = error.code == ErrorCode::invalid_argument ? ErrorCode::corrupt : error.code;
  return base::error(code, "{}: {}", path.string(), error.message);
}

}  // namespace

base::Result<std::unique_ptr<SafetensorsFile>> SafetensorsFile::open(const std::filesystem::path& path) {
  std::unique_ptr<SafetensorsFile> file(new SafetensorsFile);
  if (auto status = file->add_file(path); !status.ok()) return in_file(path, status.error());
  return file;
}

base::Result<std::unique_ptr<SafetensorsFile>> SafetensorsFile::open_directory(
    const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::exists(path / "model.safetensors", ignored)) return open(path / "model.safetensors");
  const std::filesystem::path index = path / "model.safetensors.index.json";
  if (!std::filesystem::exists(index, ignored))
    return base::error(ErrorCode::not_found, "{}: neither model.safetensors nor its index is there",
                       path.string());
  std::unique_ptr<SafetensorsFile> file(new SafetensorsFile);
  if (auto status = file->add_index(index); !status.ok()) return in_file(index, status.error());
  return file;
}

base::Status SafetensorsFile::add_file(const std::filesystem::path& path) {
  TRY(MappedFile mapped, MappedFile::open(path));
  const std::span<const std::byte> bytes = mapped.bytes();
  ByteReader in(bytes);
  TRY(const auto header_bytes, in.read<std::uint64_t>());
  if (header_bytes > kMaxHeaderBytes)
    return base::error(ErrorCode::corrupt, "it claims a header of {} bytes; at most {} may be", header_bytes,
                       kMaxHeaderBytes);
  if (header_bytes > in.remaining())
    return base::error(ErrorCode::corrupt, "the file is cut off: it ends inside its header of {} bytes",
                       header_bytes);
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + sizeof(header_bytes),
                                header_bytes);
  TRY(std::vector<TensorRecord> records, read_records(header));
  const std::span<const std::byte> data = bytes.subspan(sizeof(header_bytes) + header_bytes);
  TRY_OK(check_layout(records, data.size()));

  for (TensorRecord& record : records) {
    Entry entry{std::move(record.stored_type), record.type, std::move(record.shape),
                data.data() + record.begin};
    const auto address = reinterpret_cast<std::uintptr_t>(entry.data);
    if (record.type && address % static_cast<std::uintptr_t>(tensor::info(*record.type).block_bytes) != 0)
      return bad_tensor(record.name, "its data is not aligned for its type");
    if (!tensors_.emplace(record.name, std::move(entry)).second)
      return bad_tensor(record.name, "it stands twice");
  }
  files_.push_back(std::move(mapped));
  return base::ok();
}

base::Status SafetensorsFile::add_index(const std::filesystem::path& path) {
  TRY(const MappedFile index, MappedFile::open(path));
  const std::span<const std::byte> bytes = index.bytes();
  if (bytes.size() > kMaxHeaderBytes)
    return base::error(ErrorCode::corrupt, "the index has {} bytes; at most {} may be", bytes.size(),
                       kMaxHeaderBytes);
  TRY(const json::value parsed,
      base::parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  const auto* root = parsed.if_object();
  const auto* entry = root ? root->if_contains("weight_map") : nullptr;
  const auto* weight_map = entry ? entry->if_object() : nullptr;
  if (!weight_map) return base::error(ErrorCode::corrupt, "the index has no weight_map");
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : *weight_map) {
    const auto* name = shard.if_string();
    // Shards are in the same directory as the index. The index must not name files elsewhere.
    if (!name || name->empty() || name->find('/') != json::string::npos)
      return base::error(ErrorCode::corrupt, "tensor {:?} is in no file beside the index",
                         std::string_view(tensor));
    shards.emplace(std::string_view(*name));
  }
  for (const std::string& shard : shards) {
    if (auto status = add_file(path.parent_path() / shard); !status.ok())
      return base::error(status.error().code, "{}: {}", shard, status.error().message);
  }
  for (const auto& [tensor, shard] : *weight_map) {
    if (!contains(std::string_view(tensor)))
      return base::error(ErrorCode::corrupt, "tensor {:?} is not in its shard", std::string_view(tensor));
  }
  return base::ok();
}

base::Result<tensor::TensorView> SafetensorsFile::find(std::string_view name) const {
  const auto it = tensors_.find(name);
  if (it == tensors_.end())
    return base::error(ErrorCode::not_found, "the checkpoint has no tensor {:?}", name);
  const Entry& entry = it->second;
  if (!entry.type)
    return base::error(ErrorCode::unsupported, "tensor {:?} has type {:?}, which Kvasir does not run", name,
                       entry.stored_type);
  return tensor::TensorView{entry.data, *entry.type, entry.shape};
}

base::Result<RawTensor> SafetensorsFile::find_raw(std::string_view name) const {
  const auto it = tensors_.find(name);
  if (it == tensors_.end())
    return base::error(ErrorCode::not_found, "the checkpoint has no tensor {:?}", name);
  return RawTensor{it->second.stored_type, it->second.shape, it->second.data};
}

std::vector<std::string_view> SafetensorsFile::names() const {
  std::vector<std::string_view> names;
  names.reserve(tensors_.size());
  for (const auto& [name, entry] : tensors_) names.push_back(name);
  return names;
}

}  // namespace kvasir::model
