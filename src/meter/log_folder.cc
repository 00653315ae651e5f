#include "meter/log_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/random_bytes.h"
#include "meter/segment.h"

namespace kvasir::meter {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

constexpr const char* kLockName = "lock";

base::Error cannot(const fs::path& path, const char* what, const std::string& why) {
  return base::error(ErrorCode::io, "{}: cannot be {}: {}", path.string(), what, why);
}

Status make_folder(const fs::path& path) {
  std::error_code failed;
  fs::create_directories(path, failed);
  if (failed) return cannot(path, "made", failed.message());
  return base::ok();
}

// False if the previous holder of the lock deleted the folder before it released the lock.
bool is_still_there(const fs::path& path, int file) {
  struct stat by_name = {};
  struct stat opened = {};
  return ::stat(path.c_str(), &by_name) == 0 && ::fstat(file, &opened) == 0 &&
         by_name.st_ino == opened.st_ino;
}

}  // namespace

LogFolder::~LogFolder() {
  if (lock_ >= 0) ::close(lock_);
}

Result<LogFolder> LogFolder::take(const fs::path& path) {
  const fs::path lock_path = path / kLockName;
  const int file = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return cannot(lock_path, "opened", std::strerror(errno));
  LogFolder folder(path, file);
  if (::flock(file, LOCK_EX | LOCK_NB) != 0 || !is_still_there(lock_path, file))
    return base::error(ErrorCode::unavailable, "{}: another process holds it", path.string());
  return folder;
}

Result<std::vector<LogFolder>> LogFolder::claim(const fs::path& root) {
  TRY_OK(make_folder(root));
  std::vector<LogFolder> folders;
  std::error_code failed;
  for (fs::directory_iterator it(root, failed), end; !failed && it != end; it.increment(failed)) {
    std::error_code ignored;
    if (!it->is_directory(ignored)) continue;
    if (Result<LogFolder> folder = take(it->path()); folder.ok()) folders.push_back(std::move(*folder));
  }
  if (failed) return cannot(root, "read", failed.message());
  return folders;
}

Result<LogFolder> LogFolder::make(const fs::path& root) {
  const fs::path path = root / fmt::format("{:016x}", base::random_uint64());
  TRY_OK(make_folder(path));
  TRY_OK(sync_folder(root));
  return take(path);
}

Status LogFolder::remove() {
  std::error_code failed;
  fs::remove_all(path_, failed);
  if (failed) return cannot(path_, "removed", failed.message());
  return sync_folder(path_.parent_path());
}

}  // namespace kvasir::meter
