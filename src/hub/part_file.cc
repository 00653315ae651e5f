#include "hub/part_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace kvasir::hub {

namespace fs = std::filesystem;
using base::ErrorCode;

PartFile::PartFile(int fd, fs::path path, const ModelFile& expected)
    : fd_(fd), path_(std::move(path)), expected_(&expected) {}

PartFile::~PartFile() {
  if (fd_ >= 0) ::close(fd_);
}

PartFile::PartFile(PartFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      expected_(other.expected_),
      size_(other.size_),
      digest_(std::move(other.digest_)) {}

base::Result<PartFile> PartFile::create(const fs::path& path, const ModelFile& expected) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return file_error("create", path, errno);
  return PartFile(fd, path, expected);
}

base::Result<PartFile> PartFile::resume(const fs::path& path, const ModelFile& expected) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return file_error("create", path, errno);
  PartFile file(fd, path, expected);
  TRY_OK(read_file(path, [&](std::string_view bytes) -> base::Status {
    file.size_ += bytes.size();
    file.digest_.update(bytes);
    return base::ok();
  }));
  if (file.size_ > expected.size) TRY_OK(file.restart());
  return file;
}

base::Status PartFile::append(std::string_view bytes) {
  if (bytes.size() > expected_->size - size_)
    return base::error(ErrorCode::corrupt, "{} is larger than its {} bytes", expected_->path,
                       expected_->size);
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return file_error("write", path_, errno);
    digest_.update(bytes.substr(0, static_cast<std::size_t>(written)));
    size_ += static_cast<std::size_t>(written);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return base::ok();
}

base::Status PartFile::restart() {
  if (::ftruncate(fd_, 0) != 0 || ::lseek(fd_, 0, SEEK_SET) < 0) return file_error("write", path_, errno);
  size_ = 0;
  digest_ = Sha256();
  return base::ok();
}

base::Status PartFile::finish() {
  if (size_ != expected_->size)
    return base::error(ErrorCode::corrupt, "{} ended after {} of {} bytes", expected_->path, size_,
                       expected_->size);
  const std::string sha256 = digest_.finish();
  if (sha256 != expected_->sha256)
    return base::error(ErrorCode::corrupt, "{} has the SHA-256 {}, not {}", expected_->path, sha256,
                       expected_->sha256);
  if (::fsync(fd_) != 0) return file_error("write", path_, errno);
  return base::ok();
}

base::Error file_error(std::string_view verb, const fs::path& path, int code) {
  if (code == ENOSPC || code == EDQUOT)
    return base::error(ErrorCode::exhausted,
                       "cannot {} {}: the disk is full; free some space or set model_dir to another disk",
                       verb, path.string());
  return base::error(ErrorCode::io, "cannot {} {}: {}", verb, path.string(), std::strerror(code));
}

base::Status sync_folder(const fs::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return file_error("open", folder, errno);
  const int synced = ::fsync(fd);
  const int code = errno;
  ::close(fd);
  if (synced != 0 && code != EINVAL) return file_error("write", folder, code);
  return base::ok();
}

base::Status make_folder(const fs::path& folder) {
  std::error_code code;
  fs::create_directories(folder, code);
  if (code) return file_error("create", folder, code.value());
  return base::ok();
}

}  // namespace kvasir::hub
