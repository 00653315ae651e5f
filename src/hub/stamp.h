#pragma once

#include <filesystem>
#include <stop_token>

#include "base/result.h"
#include "hub/catalogue.h"

namespace kvasir::hub {

// A stamp in a model's folder records the digest, size and modification time of each verified file. A file
// that still matches its stamp is not hashed again, so that a start does not read gigabytes.

enum class FileState {
  verified,  // stamped, and unchanged since
  unknown,   // has the right size but no stamp, so it must be hashed
  absent,    // missing, or of another size
};

FileState file_state(const std::filesystem::path& folder, const ModelFile& file);

bool all_verified(const std::filesystem::path& folder, const Entry& entry);

// Stamps the files of `entry` that are present. The caller has verified them.
base::Status write_stamp(const std::filesystem::path& folder, const Entry& entry);

}  // namespace kvasir::hub
