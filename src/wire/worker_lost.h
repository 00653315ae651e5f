#pragma once

#include <string_view>

#include "base/result.h"

namespace kvasir::wire {

// The reason in errors that end a request because its worker is gone or leaving, and not because of the
// request itself.
inline constexpr std::string_view kWorkerLost = "worker_lost";
// The reason in errors of a worker that is about to stop, for the requests that it ends or refuses.
inline constexpr std::string_view kDraining = "server_draining";

// Whether another worker can continue a request that ended with this error. Includes the engine's own errors,
// whose reasons clients of a single process already know.
inline bool is_worker_lost(const base::Error& error) {
  return error.reason == kWorkerLost || error.reason == "engine_failed" || error.reason == kDraining;
}

}  // namespace kvasir::wire
