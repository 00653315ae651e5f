#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "fleet/worker_list.h"

namespace kvasir::fleet {

// A member's value in etcd: a JSON object with `id` and `address`. Readers ignore other fields, which are for
// people or later versions.
std::string write_member(const WorkerPlace& place);
base::Result<WorkerPlace> read_member(std::string_view text);

}  // namespace kvasir::fleet
