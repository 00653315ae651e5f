#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kvasir::tenancy {

// A file of lines that grows at its end (`limits.journal` in a folder), with a lock file beside it that one
// process at a time can hold. Appended lines survive the end of the process; only `replace` waits for the
// disk. Thread-safe.
class Journal {
 public:
  explicit Journal(const std::filesystem::path& folder);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Whether this object holds the lock. Each call tries to get it if it does not.
  base::Result<bool> lock();
  // Reads the whole file; empty if there is none.
  base::Result<std::string> read() const;
  // Appends whole lines with one write. An error may leave part of a line in the file; only `replace` mends
  // that.
  base::Status append(std::string_view lines);

  // What the lines survive: the end of the process, or of the machine.
  enum class Durability { process, disk };
  // Replaces the file's contents with these lines. An error changes nothing.
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
