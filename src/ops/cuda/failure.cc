#include "ops/cuda/failure.h"

#include <atomic>
#include <mutex>
#include <utility>

namespace kvasir::ops::cuda {

namespace {

struct Failure {
  std::atomic<bool> happened{false};
  std::mutex mutex;
  std::string what;  // guarded by mutex
};

Failure& failure() {
  static Failure instance;
  return instance;
}

}  // namespace

base::Status gpu_status() {
  if (!has_failed()) return base::ok();
  const std::lock_guard lock(failure().mutex);
  return base::error(base::ErrorCode::unavailable, "the GPU failed: {}", failure().what);
}

bool has_failed() {
  return failure().happened;
}

void remember_failure(std::string what) {
  const std::lock_guard lock(failure().mutex);
  if (failure().happened) return;
  failure().what = std::move(what);
  failure().happened = true;
}

}  // namespace kvasir::ops::cuda
