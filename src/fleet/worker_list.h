#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace kvasir::fleet {

// Where a worker is.
struct WorkerPlace {
  std::string id;
  std::string address;  // HOST:PORT
  bool operator==(const WorkerPlace&) const = default;
};

// Reads a TOML file of [[worker]] tables with `address` and, if it is not to be the address, `id`. Errors
// name the file and the line.
base::Result<std::vector<WorkerPlace>> read_worker_list(const std::string& path);

}  // namespace kvasir::fleet
