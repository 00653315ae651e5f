#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/result.h"
#include "meter/segment.h"
#include "store/usage.h"

namespace kvasir::meter {

// Folds a log into the store's totals, from where the store says that it came to: whatever crashes in
// between, each record is in the totals once. One thread.
class LogFold {
 public:
  // The store outlives it.
  LogFold(std::filesystem::path folder, std::string log, store::Usage& usage);

  // Everything before `end`, which is on the disk. Segments that end there or before are removed, but for the
  // one that begins last, which may still be written.
  base::Status fold(std::int64_t end);
  // A log that nobody writes, as far as it can be read. All its segments are removed.
  base::Status fold_all();

 private:
  base::Status fold_segment(const Segment& segment, std::int64_t end);
  base::Status find_position();

  const std::filesystem::path folder_;
  const std::string log_;
  store::Usage& usage_;
  std::int64_t position_ = -1;  // the store's; -1: unknown
};

}  // namespace kvasir::meter
