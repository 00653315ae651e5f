#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace kvasir::fleet {

// A worker's id and address.
struct WorkerPlace {
  std::string id;
  std::string address;  // HOST:PORT
  bool operator==(const WorkerPlace&) const = default;
};

// Reads a TOML file of [[worker]] tables with `address` and, optionally, `id`, which defaults to the address.
// Errors name the file and the line.
base::Result<std::vector<WorkerPlace>> read_worker_list(const std::string& path);

}  // namespace kvasir::fleet
