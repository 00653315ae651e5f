#include "net/body_budget.h"

#include "base/heap.h"

namespace kvasir::net {

namespace {

constexpr std::size_t kSmallBytes = 256 * 1024;  // small bodies, including their read buffer
constexpr std::size_t kWorthTrimming = 64 * 1024 * 1024;

}  // namespace

bool BodyBudget::grow(std::size_t from, std::size_t to) {
  const std::size_t limit = to > kSmallBytes ? max_bytes_ - max_bytes_ / 4 : max_bytes_;
  const std::size_t more = to - from;
  std::size_t held = held_;
  do {
    if (held > from && (more > limit || held > limit - more)) return false;
  } while (!held_.compare_exchange_weak(held, held + more));
  std::size_t peak = peak_;
  while (held + more > peak && !peak_.compare_exchange_weak(peak, held + more)) continue;
  return true;
}

void BodyBudget::give_back(std::size_t bytes) {
  if (bytes == 0 || held_.fetch_sub(bytes) != bytes) return;
  // The allocator keeps freed memory. After a flood it is returned to the system.
  if (peak_.exchange(0) >= kWorthTrimming) base::return_freed_memory();
}

}  // namespace kvasir::net
