#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace kvasir::router {

// How many of a pool's members with the role "auto" compute prompts for the others now. Their share of the
// pool follows the share of long prompts in the time that all members have computed lately. The members
// report that time themselves, so that all gateways see the same. Thread-safe.
class ChangingRoles {
 public:
  // Seconds that a member has computed since its start.
  struct Work {
    double busy_s = 0;
    double long_prompts_s = 0;  // of them, for prompts that another member could compute
  };
  // The members of a pool that make progress, by role.
  struct Crew {
    int num_changing = 0;
    int num_prefill = 0;  // fixed
    int num_others = 0;   // fixed
    void add(std::string_view role);
  };

  // Load counts for about `window_s` seconds.
  explicit ChangingRoles(double window_s) : window_s_(window_s) {}

  // The latest report of a member of any role. Its first one has history only.
  void heed(const std::string& member, const Work& work, base::TimePoint now);
  void forget(const std::string& member);
  // Decides anew. The number changes by one at a time, after a third of the window at the earliest, and only
  // if the share of long prompts is clearly another one. At least one member answers. A pool that has hardly
  // computed anything stays as it is.
  void settle(const Crew& crew, base::TimePoint now);
  int num_prefill() const { return num_prefill_; }

 private:
  struct Report {
    Work work;
    base::TimePoint at;
  };
  // The number of members, as a fraction, by the load alone.
  double wanted(const Crew& crew) const;

  const double window_s_;
  std::atomic<int> num_prefill_{0};  // changed under mutex_
  std::mutex mutex_;
  std::map<std::string, Report> heeded_;  // guarded by mutex_, as is the rest; by member, the latest report
  Work recent_;                           // of all members; fades
  base::TimePoint faded_at_;
  base::TimePoint changed_at_;
};

}  // namespace kvasir::router
