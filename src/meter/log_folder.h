#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kvasir::meter {

// The folder of one log, locked by this object. The lock is released when the process ends, even by a crash.
// The folder's name is the log's unique id.
class LogFolder {
 public:
  // Locks the folders below `root` that no other process holds. Creates `root` if necessary.
  static base::Result<std::vector<LogFolder>> claim(const std::filesystem::path& root);
  static base::Result<LogFolder> make(const std::filesystem::path& root);
  ~LogFolder();
  LogFolder(LogFolder&& other) noexcept
      : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}
  LogFolder& operator=(LogFolder&&) = delete;
  LogFolder(const LogFolder&) = delete;
  LogFolder& operator=(const LogFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string id() const { return path_.filename().string(); }
  // Deletes the folder with all its files. Call nothing else afterwards.
  base::Status remove();

 private:
  LogFolder(std::filesystem::path path, int lock) : path_(std::move(path)), lock_(lock) {}
  // unavailable: another process holds the lock.
  static base::Result<LogFolder> take(const std::filesystem::path& path);

  std::filesystem::path path_;
  int lock_;  // -1 once moved from
};

}  // namespace kvasir::meter
