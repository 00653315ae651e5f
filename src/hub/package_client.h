#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "hub/source.h"

namespace kvasir::hub {

// Whether a package client retries. A package index that may be unreachable is asked only once.
enum class Patience { once, retries };

struct PackageFetch {
  SourceKind kind = SourceKind::pip;  // pip or npm
  std::string package;
  std::filesystem::path folder;  // for temporary files; exists and is empty
  Patience patience = Patience::once;
  std::uint64_t max_bytes = 0;                        // limit for all files that the client writes
  std::function<void(std::uint64_t bytes)> progress;  // takes the bytes of the archive so far
};

// Fetches one package with the pip or npm of this machine, using its configuration and credentials. Returns
// the path of the archive inside `folder`. The client's caches and temporary files are in `folder`, too.
base::Result<std::filesystem::path> fetch_package(const PackageFetch& fetch, std::stop_token stop);

struct ArchiveMember {
  SourceKind kind = SourceKind::pip;
  std::filesystem::path archive;
  std::string path;
};

// Streams one file of an archive to `take`.
base::Status read_member(const ArchiveMember& member,
                         const std::function<base::Status(std::string_view)>& take, std::stop_token stop);

}  // namespace kvasir::hub
