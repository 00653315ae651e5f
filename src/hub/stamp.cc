#include "hub/stamp.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <optional>
#include <string>

#include "hub/part_file.h"

namespace kvasir::hub {

namespace fs = std::filesystem;

namespace {

constexpr const char* kStampName = ".verified";
constexpr int kMaxLines = 10'000;

// Returns the line "sha256 size mtime_ns path", which must match as a whole. Absent if the file is missing or
// of another size.
std::optional<std::string> stamp_line(const fs::path& folder, const ModelFile& file) {
  struct stat info{};
  if (::stat((folder / file.path).c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  if (static_cast<std::uint64_t>(info.st_size) != file.size) return std::nullopt;
  return fmt::format("{} {} {}.{:09} {}", file.sha256, file.size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec,
                     file.path);
}

bool is_stamped(const fs::path& folder, const std::string& wanted) {
  std::ifstream stream(folder / kStampName);
  std::string line;
  for (int i = 0; i < kMaxLines && std::getline(stream, line); i++)
    if (line == wanted) return true;
  return false;
}

}  // namespace

FileState file_state(const fs::path& folder, const ModelFile& file) {
  const auto line = stamp_line(folder, file);
  if (!line) return FileState::absent;
  return is_stamped(folder, *line) ? FileState::verified : FileState::unknown;
}

bool all_verified(const fs::path& folder, const Entry& entry) {
  return std::all_of(entry.files.begin(), entry.files.end(),
                     [&](const ModelFile& file) { return file_state(folder, file) == FileState::verified; });
}

base::Status write_stamp(const fs::path& folder, const Entry& entry) {
  std::string text;
  for (const ModelFile& file : entry.files) {
    const auto line = stamp_line(folder, file);
    if (!line)
      return base::error(base::ErrorCode::io, "{} changed while it was verified",
                         (folder / file.path).string());
    text += *line + "\n";
  }
  const fs::path scratch = folder / (std::string(kStampName) + ".new");
  const int fd = ::open(scratch.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return file_error("create", scratch, errno);
  const bool written =
      ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(fd) == 0;
  const int code = errno;
  ::close(fd);
  if (!written) return file_error("write", scratch, code);
  if (::rename(scratch.c_str(), (folder / kStampName).c_str()) != 0)
    return file_error("rename", scratch, errno);
  return sync_folder(folder);
}

}  // namespace kvasir::hub
