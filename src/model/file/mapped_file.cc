#include "model/file/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace kvasir::model {

using base::ErrorCode;

namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

base::Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK keeps the opening of a named pipe from waiting for a writer.
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::not_found : ErrorCode::io;
    return base::error(code, "{}: {}", path.string(), std::strerror(errno));
  }
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0)
    return base::error(ErrorCode::io, "{}: {}", path.string(), std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    return base::error(ErrorCode::invalid_argument, "{}: not a regular file", path.string());
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return base::error(ErrorCode::corrupt, "{}: the file is empty", path.string());
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED)
    return base::error(ErrorCode::io, "{}: cannot map: {}", path.string(), std::strerror(errno));
  return MappedFile({static_cast<const std::byte*>(data), size});
}

void MappedFile::release_pages() const {
  // This loses no data, because nobody writes to the mapping. A failure is ignored: this is only advice.
  ::madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), MADV_DONTNEED);
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace kvasir::model
