#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"

namespace kvasir::router {

// The members of a pool that lose too many requests, and get none for a while: a second at first, twice as
// long each time. Then one request tries such a member; if it ends well, the member is back. At most half of
// a pool is out. Thread-safe.
class Ejections {
 public:
  static constexpr int kLostInARow = 3;
  static constexpr int kLeastLost = 5;  // in a window, when they are at least half of its requests
  static constexpr double kWindow_s = 10;
  static constexpr double kFirstTime_s = 1;
  static constexpr double kLongestTime_s = 60;
  static constexpr double kForgiven_s = 120;  // after its return, when the next time is a first one again
  static constexpr double kTrial_s = 10;      // how long a trial without an end keeps others out

  enum class Outcome { ended_well, lost };
  // True if the member is put out by it.
  bool note(const std::string& member, Outcome outcome, std::size_t num_members, base::TimePoint now);

  bool any() const { return num_out_.load(std::memory_order_relaxed) > 0; }
  // Adds those that get no request now.
  void append_out(std::vector<std::string>& members, base::TimePoint now) const;
  // The member gets a request: if its time is over, this is the trial.
  void begin(const std::string& member, base::TimePoint now);
  void forget(const std::string& member);

  // How often members were put out since the start.
  std::map<std::string, std::uint64_t> counts() const;

 private:
  struct State {
    int lost_in_a_row = 0;
    int num_well = 0;  // in the window
    int num_lost = 0;  // in the window
    base::TimePoint window;
    bool is_out = false;
    bool is_tried = false;
    base::TimePoint until;  // while it is out; of the trial, once there is one
    base::TimePoint back;   // when it last came back
    int times = 0;          // put out, since it was forgiven
  };

  static bool fails_too_often(const State& state);
  void put_out(const std::string& member, State& state, base::TimePoint now);
  static base::TimePoint after(base::TimePoint now, double seconds);

  mutable std::mutex mutex_;
  std::map<std::string, State> states_;          // guarded by mutex_
  std::map<std::string, std::uint64_t> counts_;  // guarded by mutex_
  std::atomic<int> num_out_{0};                  // changed under mutex_
};

}  // namespace kvasir::router
