#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kvasir::tenancy {

// A file of lines that grows at its end, `limits.journal` in a folder, and a lock beside it that one process
// at a time has. What was appended survives the end of the process; only `replace` waits for the disk.
// Thread-safe.
class Journal {
 public:
  explicit Journal(const std::filesystem::path& folder);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Whether this object has the lock now. It is tried for as often as this is called.
  base::Result<bool> lock();
  // All of the file; empty where there is none.
  base::Result<std::string> read() const;
  // Adds whole lines with one write. After an error, of which part of a line may be left, only `replace`
  // helps.
  base::Status append(std::string_view lines);

  enum class Durability { process, disk };  // what it survives the end of
  // Puts the lines in the place of all that there are. An error changes nothing.
  base::Status replace(std::string_view lines, Durability durability);

  std::size_t num_bytes() const { return num_bytes_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  const std::filesystem::path path_;
  mutable std::mutex mutex_;
  int lock_ = -1;  // guarded by mutex_
  int file_ = -1;  // guarded by mutex_; -1: not open
  std::atomic<std::size_t> num_bytes_{0};
};

}  // namespace kvasir::tenancy
