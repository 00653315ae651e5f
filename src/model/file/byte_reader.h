#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/result.h"

namespace kvasir::model {

static_assert(std::endian::native == std::endian::little, "weight files are little-endian");

// Reads little-endian values from the front of a file's bytes. Fails rather than reading past the end.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  base::Result<T> read() {
    if (remaining() < sizeof(T)) return ended();
    T value;
    std::memcpy(&value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }

  // Reads a 64-bit length, and a string of that many bytes.
  base::Result<std::string_view> read_string() {
    TRY(const auto length, read<std::uint64_t>());
    if (remaining() < length) return ended();
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data() + position_), length);
    position_ += length;
    return text;
  }

  std::size_t position() const { return position_; }
  std::size_t remaining() const { return bytes_.size() - position_; }

 private:
  base::Error ended() const {
    return base::error(base::ErrorCode::corrupt,
                       "the file is cut off: it ends inside its header, near byte {}", position_);
  }

  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
};

}  // namespace kvasir::model
