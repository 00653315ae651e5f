#pragma once

#include <filesystem>
#include <stop_token>

#include "base/result.h"
#include "hub/catalogue.h"

namespace kvasir::hub {

// A model's folder keeps a note of what was verified: digest, size and time of change of each file. A file
// that still has them is the one that was hashed, so a start reads no gigabytes.

enum class FileState {
  verified,  // stamped, and unchanged since
  unknown,   // of the right size, but not stamped: to be hashed
  absent,    // not there, or of another size
};

FileState file_state(const std::filesystem::path& folder, const ModelFile& file);

bool all_verified(const std::filesystem::path& folder, const Entry& entry);

// Stamps the files of `entry` as they lie there; whoever calls has verified them.
base::Status write_stamp(const std::filesystem::path& folder, const Entry& entry);

}  // namespace kvasir::hub
