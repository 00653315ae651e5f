#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/probation.h"

namespace kvasir::router {

// The members of a pool that lose too many requests, and get none for a while. At most half of a pool is out.
// Thread-safe.
class Ejections {
 public:
  Ejections() = default;
  explicit Ejections(base::Probation::Options options) : options_(options) {}

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
  const base::Probation::Options options_{};
  mutable std::mutex mutex_;
  std::map<std::string, base::Probation> members_;  // guarded by mutex_
  std::map<std::string, std::uint64_t> counts_;     // guarded by mutex_
  std::atomic<int> num_out_{0};                     // changed under mutex_
};

}  // namespace kvasir::router
