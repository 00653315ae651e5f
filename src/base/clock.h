#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace kvasir::base {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

// Monotonic time as an argument, so that code that waits or measures can be tested without waiting.
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

// Unix time as an argument, for calendars and for files that outlive the process. It may be set back.
// Thread-safe.
class WallClock {
 public:
  virtual ~WallClock() = default;
  virtual std::int64_t unix_us() const = 0;
};

class RealWallClock final : public WallClock {
 public:
  std::int64_t unix_us() const override {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  }
};

// A wall clock that stands still until a test moves it.
class FakeWallClock final : public WallClock {
 public:
  explicit FakeWallClock(std::int64_t unix_us) : unix_us_(unix_us) {}
  std::int64_t unix_us() const override { return unix_us_.load(); }
  void advance(Duration by) { unix_us_ += std::chrono::duration_cast<std::chrono::microseconds>(by).count(); }

 private:
  std::atomic<std::int64_t> unix_us_;
};

inline double seconds(Duration d) {
  return std::chrono::duration<double>(d).count();
}

}  // namespace kvasir::base
