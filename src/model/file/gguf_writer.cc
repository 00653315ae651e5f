#include "model/file/gguf_writer.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/check.h"

namespace kvasir::model {

using base::ErrorCode;

namespace {

constexpr std::uint32_t kVersion = 3;
constexpr std::uint64_t kAlignment = 32;

// GGUF's codes of value types.
constexpr std::uint32_t kU32 = 4;
constexpr std::uint32_t kI32 = 5;
constexpr std::uint32_t kF32 = 6;
constexpr std::uint32_t kBool = 7;
constexpr std::uint32_t kString = 8;
constexpr std::uint32_t kArray = 9;

template <class T>
void append(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

void append_text(std::string& out, std::string_view text) {
  append(out, std::uint64_t{text.size()});
  out += text;
}

std::uint64_t aligned(std::uint64_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

base::Error failure(const std::filesystem::path& path) {
  return base::error(ErrorCode::io, "cannot write {}: {}", path.string(), std::strerror(errno));
}

}  // namespace

base::Result<GgufWriter> GgufWriter::create(const std::filesystem::path& path) {
  std::filesystem::path part = path;
  part += ".part";
  std::FILE* file = std::fopen(part.c_str(), "wb");
  if (file == nullptr) return failure(part);
  return GgufWriter(path, std::move(part), file);
}

GgufWriter::GgufWriter(std::filesystem::path path, std::filesystem::path part, std::FILE* file)
    : path_(std::move(path)), part_(std::move(part)), file_(file) {}

GgufWriter::GgufWriter(GgufWriter&& other) noexcept
    : path_(std::move(other.path_)),
      part_(std::exchange(other.part_, {})),
      file_(std::move(other.file_)),
      keys_(std::move(other.keys_)),
      tensors_(std::move(other.tensors_)),
      num_keys_(other.num_keys_),
      next_offset_(other.next_offset_),
      sizes_(std::move(other.sizes_)),
      current_(other.current_),
      written_(other.written_) {}

GgufWriter::~GgufWriter() {
  std::error_code ignored;
  if (!part_.empty()) std::filesystem::remove(part_, ignored);
}

void GgufWriter::begin_key(std::string_view name, std::uint32_t type) {
  append_text(keys_, name);
  append(keys_, type);
  ++num_keys_;
}

void GgufWriter::key(std::string_view name, std::string_view text) {
  begin_key(name, kString);
  append_text(keys_, text);
}

void GgufWriter::key(std::string_view name, std::uint32_t number) {
  begin_key(name, kU32);
  append(keys_, number);
}

void GgufWriter::key(std::string_view name, float number) {
  begin_key(name, kF32);
  append(keys_, number);
}

void GgufWriter::key_bool(std::string_view name, bool value) {
  begin_key(name, kBool);
  append(keys_, static_cast<std::uint8_t>(value ? 1 : 0));
}

void GgufWriter::key(std::string_view name, std::span<const std::string> texts) {
  begin_key(name, kArray);
  append(keys_, kString);
  append(keys_, std::uint64_t{texts.size()});
  for (const std::string& text : texts) append_text(keys_, text);
}

void GgufWriter::key(std::string_view name, std::span<const std::int32_t> numbers) {
  begin_key(name, kArray);
  append(keys_, kI32);
  append(keys_, std::uint64_t{numbers.size()});
  for (const std::int32_t number : numbers) append(keys_, number);
}

void GgufWriter::key(std::string_view name, std::span<const float> numbers) {
  begin_key(name, kArray);
  append(keys_, kF32);
  append(keys_, std::uint64_t{numbers.size()});
  for (const float number : numbers) append(keys_, number);
}

void GgufWriter::copy_key(const GgufKey& key) {
  keys_.append(reinterpret_cast<const char*>(key.bytes.data()), key.bytes.size());
  ++num_keys_;
}

void GgufWriter::declare(std::string_view name, tensor::DType type, const tensor::Shape& shape) {
  std::int64_t num_elems = 1;
  for (const std::int64_t dim : shape) num_elems *= dim;
  append_text(tensors_, name);
  append(tensors_, static_cast<std::uint32_t>(shape.size()));
  // The file lists the innermost dimension first.
  for (auto dim = shape.rbegin(); dim != shape.rend(); ++dim)
    append(tensors_, static_cast<std::uint64_t>(*dim));
  append(tensors_, gguf_type_code(type));
  append(tensors_, next_offset_);
  sizes_.push_back(static_cast<std::uint64_t>(tensor::bytes_of(type, num_elems)));
  next_offset_ += aligned(sizes_.back());
}

base::Status GgufWriter::put(const void* bytes, std::size_t size) {
  if (size > 0 && std::fwrite(bytes, 1, size, file_.get()) != size) return failure(part_);
  return base::ok();
}

base::Status GgufWriter::pad(std::uint64_t size) {
  constexpr std::array<char, kAlignment> kZeros{};
  return put(kZeros.data(), static_cast<std::size_t>(aligned(size) - size));
}

base::Status GgufWriter::begin() {
  std::string head = "GGUF";
  append(head, kVersion);
  append(head, std::uint64_t{sizes_.size()});
  append(head, num_keys_);
  const std::uint64_t size = head.size() + keys_.size() + tensors_.size();
  TRY_OK(put(head.data(), head.size()));
  TRY_OK(put(keys_.data(), keys_.size()));
  TRY_OK(put(tensors_.data(), tensors_.size()));
  return pad(size);
}

base::Status GgufWriter::write(std::span<const std::byte> bytes) {
  CHECK(current_ < sizes_.size() && written_ + bytes.size() <= sizes_[current_],
        "more bytes than tensor {} of {} was declared with", current_, sizes_.size());
  TRY_OK(put(bytes.data(), bytes.size()));
  written_ += bytes.size();
  if (written_ < sizes_[current_]) return base::ok();
  written_ = 0;
  return pad(sizes_[current_++]);
}

base::Status GgufWriter::finish() {
  CHECK(current_ == sizes_.size(), "{} of {} tensors were written", current_, sizes_.size());
  if (std::fflush(file_.get()) != 0 || ::fsync(::fileno(file_.get())) != 0) return failure(part_);
  file_.reset();
  std::error_code code;
  std::filesystem::rename(part_, path_, code);
  if (code) return base::error(ErrorCode::io, "cannot write {}: {}", path_.string(), code.message());
  part_.clear();
  return base::ok();
}

}  // namespace kvasir::model
