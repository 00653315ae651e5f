#include "store/owner_locks.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace kvasir::store {

using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

struct flock byte_lock(std::int64_t number) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = number;
  lock.l_len = 1;
  return lock;
}

}  // namespace

Result<OwnerLocks> OwnerLocks::open(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0)
    return base::error(ErrorCode::io, "{}: cannot be opened: {}", path.string(), std::strerror(errno));
  return OwnerLocks(file);
}

OwnerLocks::OwnerLocks(OwnerLocks&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

OwnerLocks::~OwnerLocks() {
  if (file_ >= 0) ::close(file_);
}

// These locks belong to the open file, not to the process, so they also separate two stores in one process.
Status OwnerLocks::hold(std::int64_t number) const {
  struct flock lock = byte_lock(number);
  if (::fcntl(file_, F_OFD_SETLK, &lock) == 0) return base::ok();
  return base::error(ErrorCode::io, "the store's lock cannot be had: {}", std::strerror(errno));
}

Result<bool> OwnerLocks::held(std::int64_t number) const {
  struct flock lock = byte_lock(number);
  if (::fcntl(file_, F_OFD_GETLK, &lock) != 0)
    return base::error(ErrorCode::io, "the store's lock cannot be read: {}", std::strerror(errno));
  return lock.l_type != F_UNLCK;
}

}  // namespace kvasir::store
