#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "base/result.h"
#include "hub/catalogue.h"
#include "hub/digest.h"

namespace kvasir::hub {

// A file that is being downloaded. Its bytes are hashed as they are appended, and it never exceeds its final
// size. Used by one thread.
class PartFile {
 public:
  // Continues an existing file and hashes the bytes that it has. A file that is too long is started anew.
  static base::Result<PartFile> resume(const std::filesystem::path& path, const ModelFile& expected);
  static base::Result<PartFile> create(const std::filesystem::path& path, const ModelFile& expected);
  ~PartFile();
  PartFile(PartFile&& other) noexcept;
  PartFile& operator=(PartFile&&) = delete;

  std::uint64_t size() const { return size_; }
  // Fails with `exhausted` if the disk is full, and with `corrupt` if the file would exceed its size.
  base::Status append(std::string_view bytes);
  base::Status restart();
  // Checks the size and the digest, and syncs the file to disk. Fails with `corrupt` if they do not match.
  base::Status finish();

 private:
  PartFile(int fd, std::filesystem::path path, const ModelFile& expected);

  int fd_;
  std::filesystem::path path_;
  const ModelFile* expected_;
  std::uint64_t size_ = 0;
  Sha256 digest_;
};

// Returns the error of a failed system call on a local file. For a full disk it is `exhausted`, with advice.
base::Error file_error(std::string_view verb, const std::filesystem::path& path, int code);

// Syncs the names in a folder to disk.
base::Status sync_folder(const std::filesystem::path& folder);

base::Status make_folder(const std::filesystem::path& folder);

}  // namespace kvasir::hub
