#pragma once

#include <cstddef>
#include <memory>

#include "base/result.h"
#include "net/body_budget.h"

namespace kvasir::api {

// Counts text that a request needs besides its body, e.g. the history of its conversation, against the memory
// of all bodies, until `hold` is released. `hold` is that of the body; null: nothing is counted. unavailable:
// there is no room now.
base::Status count_text(const std::shared_ptr<net::BodyShare>& hold, std::size_t num_bytes);

// The error for a body, or other text of a request, that finds no room.
base::Error bodies_overloaded();

}  // namespace kvasir::api
