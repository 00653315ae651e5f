#pragma once

#include <atomic>
#include <chrono>

namespace kvasir::base {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

// Monotonic time, passed as an argument, so that code that waits or measures can be tested without waiting.
// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;
};

class RealClock final : public Clock {
 public:
  TimePoint now() const override { return std::chrono::steady_clock::now(); }
};

// A clock that stands still until a test moves it.
class FakeClock final : public Clock {
 public:
  TimePoint now() const override { return TimePoint(Duration(now_ns_.load())); }
  void advance(Duration by) { now_ns_ += by.count(); }

 private:
  std::atomic<Duration::rep> now_ns_{0};
};

inline double seconds(Duration d) {
  return std::chrono::duration<double>(d).count();
}

}  // namespace kvasir::base
