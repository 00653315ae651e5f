#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "base/result.h"

namespace kvasir::model {

// A regular file, mapped read-only while this object lives. Views into the file are valid as long as the
// object. Immutable, so any thread may read. The file must not be truncated while it is mapped.
class MappedFile {
 public:
  static base::Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }
  // Removes the pages from this process's memory; they are loaded from the file again when they are read.
  void release_pages() const;

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

}  // namespace kvasir::model
