#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/probation.h"

namespace kvasir::router {

// Takes members that lose too many requests out of a pool for a while. At most half of a pool is out at once.
// Thread-safe.
class Ejections {
 public:
  Ejections() = default;
  explicit Ejections(base::Probation::Options options) : options_(options) {}

  enum class Outcome { ended_well, lost };
  // True if this outcome takes the member out.
  bool note(const std::string& member, Outcome outcome, std::size_t num_members, base::TimePoint now);

  bool any() const { return num_out_.load(std::memory_order_relaxed) > 0; }
  // Appends the members that get no request now.
  void append_out(std::vector<std::string>& members, base::TimePoint now) const;
  bool admits(const std::string& member, base::TimePoint now) const;
  // Call it when the member gets a request: if its pause is over, that request is its trial.
  void begin(const std::string& member, base::TimePoint now);
  void forget(const std::string& member);

  // How often each member was taken out since the start.
  std::map<std::string, std::uint64_t> counts() const;

 private:
  const base::Probation::Options options_{};
  mutable std::mutex mutex_;
  std::map<std::string, base::Probation> members_;  // guarded by mutex_
  std::map<std::string, std::uint64_t> counts_;     // guarded by mutex_
  std::atomic<int> num_out_{0};                     // changed under mutex_
};

}  // namespace kvasir::router
