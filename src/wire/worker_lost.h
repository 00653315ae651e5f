#pragma once

#include <string_view>

#include "base/result.h"

namespace kvasir::wire {

// The reason in errors that end a request because its worker is gone or leaves, and not because of the
// request.
inline constexpr std::string_view kWorkerLost = "worker_lost";
// Of errors with which a worker that is about to stop ends or refuses requests.
inline constexpr std::string_view kDraining = "server_draining";

// Whether another worker can go on with a request that ended with this error. The engine's own errors count:
// clients of a single process know them by these names.
inline bool is_worker_lost(const base::Error& error) {
  return error.reason == kWorkerLost || error.reason == "engine_failed" || error.reason == kDraining;
}

}  // namespace kvasir::wire
