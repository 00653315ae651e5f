#pragma once

#include <cstddef>
#include <memory>

#include "base/result.h"
#include "net/body_budget.h"

namespace kvasir::api {

// Counts text that a request needs beside its body, e.g. the history of its conversation, against the memory
// of all bodies, until the body is let go. `hold` is the body's; null: nothing is counted. unavailable: there
// is no room now.
base::Status count_text(const std::shared_ptr<net::BodyShare>& hold, std::size_t num_bytes);

// The error for a body, or such text, that finds no room.
base::Error bodies_overloaded();

}  // namespace kvasir::api
