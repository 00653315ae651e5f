#include "hub/pull_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "hub/part_file.h"

namespace kvasir::hub {

using base::ErrorCode;

base::Result<PullLock> PullLock::acquire(const std::filesystem::path& path,
                                         const std::function<void()>& on_wait, std::stop_token stop) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return file_error("create", path, errno);
  PullLock lock(fd);
  for (bool waited = false; ::flock(fd, LOCK_EX | LOCK_NB) != 0; waited = true) {
    if (errno != EWOULDBLOCK && errno != EINTR) return file_error("lock", path, errno);
    if (stop.stop_requested()) return base::error(ErrorCode::cancelled, "cancelled");
    if (!waited) on_wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return lock;
}

PullLock::~PullLock() {
  if (fd_ >= 0) ::close(fd_);
}

PullLock::PullLock(PullLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

}  // namespace kvasir::hub
