#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kvasir::meter {

// The folder of one log, held by this object alone: the system takes the lock back however the process ends.
// Its name is the log's id, which no other log ever has.
class LogFolder {
 public:
  // Those below `root` that no process holds. Makes `root` where there is none.
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
  // With all its files, for good. Nothing else is to be done with it then.
  base::Status remove();

 private:
  LogFolder(std::filesystem::path path, int lock) : path_(std::move(path)), lock_(lock) {}
  // unavailable: somebody holds it.
  static base::Result<LogFolder> take(const std::filesystem::path& path);

  std::filesystem::path path_;
  int lock_;  // -1 once moved from
};

}  // namespace kvasir::meter
