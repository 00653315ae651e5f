#pragma once

#include <string_view>

#include "base/result.h"

namespace kvasir::wire {

// The reason in errors that end a request because its worker is gone or leaves, and not because of the
// request.
inline constexpr std::string_view kWorkerLost = "worker_lost";

// Whether another worker can go on with a request that ended with this error. The engine's own errors count:
// clients of a single process know them by these names.
inline bool is_worker_lost(const base::Error& error) {
  return error.reason == kWorkerLost || error.reason == "engine_failed" || error.reason == "server_draining";
}

}  // namespace kvasir::wire
