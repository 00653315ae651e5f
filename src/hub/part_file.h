#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "base/result.h"
#include "hub/catalogue.h"
#include "hub/digest.h"

namespace kvasir::hub {

// A file on its way: appended to, hashed as it grows, never larger than it must end up. One thread.
class PartFile {
 public:
  // Continues what is there; its bytes are hashed. Anything longer than the file should be starts anew.
  static base::Result<PartFile> resume(const std::filesystem::path& path, const ModelFile& expected);
  static base::Result<PartFile> create(const std::filesystem::path& path, const ModelFile& expected);
  ~PartFile();
  PartFile(PartFile&& other) noexcept;
  PartFile& operator=(PartFile&&) = delete;

  std::uint64_t size() const { return size_; }
  // `exhausted` where the disk is full, `corrupt` where it would grow over its size.
  base::Status append(std::string_view bytes);
  base::Status restart();
  // Checks size and digest, and makes the bytes durable. `corrupt` where they are not the model's.
  base::Status finish();

 private:
  PartFile(int fd, std::filesystem::path path, const ModelFile& expected);

  int fd_;
  std::filesystem::path path_;
  const ModelFile* expected_;
  std::uint64_t size_ = 0;
  Sha256 digest_;
};

// The error of a failed system call on a local file: `exhausted` with what to do where the disk is full.
base::Error file_error(std::string_view verb, const std::filesystem::path& path, int code);

// Makes the names inside a folder durable.
base::Status sync_folder(const std::filesystem::path& folder);

base::Status make_folder(const std::filesystem::path& folder);

}  // namespace kvasir::hub
