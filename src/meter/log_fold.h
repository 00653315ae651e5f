#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/result.h"
#include "meter/segment.h"
#include "store/usage.h"

namespace kvasir::meter {

// Adds the records of a log to the store's totals. It begins at the position that the store has, so each
// record is counted once, wherever a crash interrupts it. Used by one thread.
class LogFold {
 public:
  // The store outlives it.
  LogFold(std::filesystem::path folder, std::string log, store::Usage& usage);

  // Folds everything before `end`, which must be on the disk. Deletes the folded segments except the last
  // one, which may still grow.
  base::Status fold(std::int64_t end);
  // Folds a log that is no longer written, and deletes its segments.
  base::Status fold_all();

 private:
  base::Status fold_segment(const Segment& segment, std::int64_t end);
  base::Status find_position();

  const std::filesystem::path folder_;
  const std::string log_;
  store::Usage& usage_;
  std::int64_t position_ = -1;  // the store's position; -1: unknown
};

}  // namespace kvasir::meter
