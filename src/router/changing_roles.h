#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace kvasir::router {

// Decides how many of a pool's members with the role "auto" compute prompts for the others. Their share of
// the pool follows the share of long prompts in the time that all members have computed lately. The members
// report that time themselves, so all gateways see the same. Thread-safe.
class ChangingRoles {
 public:
  // Seconds that a member has computed since its start.
  struct Work {
    double busy_s = 0;
    double long_prompts_s = 0;  // the part of them for prompts that another member could compute
  };
  // A member that makes progress, with its latest report.
  struct Seen {
    std::string_view id;
    std::string_view role;
    Work work;
  };

  // Load counts for about `window_s` seconds.
  explicit ChangingRoles(double window_s) : window_s_(window_s) {}

  // Whether it is time to observe the members again, which costs more than a request should pay for.
  bool is_due(base::TimePoint now) const { return now.time_since_epoch().count() >= due_; }
  // Takes in the reports of all members and decides anew; does nothing if it is not due. The number changes
  // by one at a time, after a third of the window at the earliest, and only if the load clearly asks for
  // another one. At least one member answers. A pool that has hardly computed anything stays as it is.
  void observe(std::span<const Seen> members, base::TimePoint now);
  int num_prefill() const { return num_prefill_; }

 private:
  struct Observed {
    Work work;
    base::TimePoint at;
  };
  using History = std::map<std::string, Observed, std::less<>>;

  void add_work(const Seen& member, const History& before, base::TimePoint now);
  void settle(std::span<const Seen> members, base::TimePoint now);

  const double window_s_;
  std::atomic<int> num_prefill_{0};          // changed under mutex_
  std::atomic<base::Duration::rep> due_{0};  // changed under mutex_
  std::mutex mutex_;
  History observed_;  // guarded by mutex_, as is the rest; by id
  Work recent_;       // of all members; fades
  base::TimePoint faded_at_;
  base::TimePoint changed_at_;
};

}  // namespace kvasir::router
