#include "tenancy/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

namespace kvasir::tenancy {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

Error failed(const std::filesystem::path& path, const char* what) {
  return base::error(ErrorCode::io, "{}: cannot be {}: {}", path.string(), what, std::strerror(errno));
}

Status write_all(int file, std::string_view bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return failed(path, "written");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return base::ok();
}

// Closes its file descriptor, unless it was taken out.
class OpenFile {
 public:
  explicit OpenFile(int file) : file_(file) {}
  ~OpenFile() {
    if (file_ >= 0) ::close(file_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int get() const { return file_; }
  int take() { return std::exchange(file_, -1); }

 private:
  int file_;
};

}  // namespace

Journal::Journal(const std::filesystem::path& folder) : path_(folder / "limits.journal") {}

Journal::~Journal() {
  if (file_ >= 0) ::close(file_);
  if (lock_ >= 0) ::close(lock_);
}

// The lock belongs to the open file, not to the process, so it also separates two journals in one process.
Result<bool> Journal::lock() {
  const std::lock_guard guard(mutex_);
  if (lock_ >= 0) return true;
  std::filesystem::path path = path_;
  path.replace_extension(".lock");
  OpenFile file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (file.get() < 0) return failed(path, "opened");
  struct flock whole = {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (::fcntl(file.get(), F_OFD_SETLK, &whole) != 0) {
    if (errno == EAGAIN || errno == EACCES) return false;
    return failed(path, "locked");
  }
  lock_ = file.take();
  return true;
}

Result<std::string> Journal::read() const {
  std::error_code error;
  if (!std::filesystem::exists(path_, error) && !error) return std::string();
  std::ifstream in(path_, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in.is_open() || in.bad()) return failed(path_, "read");
  return text;
}

Status Journal::append(std::string_view lines) {
  const std::lock_guard guard(mutex_);
  if (file_ < 0) return base::error(ErrorCode::io, "{}: is not open", path_.string());
  Status written = write_all(file_, lines, path_);
  if (written.ok()) num_bytes_ += lines.size();
  return written;
}

Status Journal::replace(std::string_view lines, Durability durability) {
  const std::lock_guard guard(mutex_);
  std::filesystem::path fresh = path_;
  fresh += ".new";
  OpenFile file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
  if (file.get() < 0) return failed(fresh, "opened");
  TRY_OK(write_all(file.get(), lines, fresh));
  if (durability == Durability::disk && ::fsync(file.get()) != 0) return failed(fresh, "written");
  if (::rename(fresh.c_str(), path_.c_str()) != 0) return failed(path_, "replaced");
  if (file_ >= 0) ::close(file_);
  file_ = file.take();
  num_bytes_ = lines.size();
  return base::ok();
}

}  // namespace kvasir::tenancy
