#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "fleet/worker_list.h"

namespace kvasir::fleet {

// A member as etcd keeps it: a JSON object with `id` and `address`. Other fields are for people, and of later
// versions.
std::string write_member(const WorkerPlace& place);
base::Result<WorkerPlace> read_member(std::string_view text);

}  // namespace kvasir::fleet
