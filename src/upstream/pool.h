#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "upstream/member.h"

namespace kvasir::upstream {

// The upstreams that answer for one name. Chooses which of them gets a request. Thread-safe.
class Pool {
 public:
  // This many retries are allowed before the first request.
  static constexpr double kMostRetries = 10;
  static constexpr double kRetriesPerRequest = 0.2;

  // `members` is not empty.
  Pool(std::string name, std::vector<std::shared_ptr<Member>> members);

  const std::string& name() const { return name_; }
  const std::vector<std::shared_ptr<Member>>& members() const { return members_; }
  // Whether some member could take requests, apart from being full.
  bool is_up() const;
  // The smallest known context length of its members; 0: none is known.
  int context_length() const;
  // Requests that its members may have at a time.
  int max_in_flight() const;

  // Takes a place for a request whose conversation begins with `key`. exhausted: all members that take
  // requests are full; unavailable: no member takes requests.
  base::Result<Slot> pick(std::uint64_t key);
  // Takes a place at another member for a request that failed before its answer began. Absent: there is no
  // other member, or there were too many retries lately.
  std::optional<Slot> pick_again(std::uint64_t key, std::span<const std::string> tried_labels);
  std::uint64_t num_retries() const;

 private:
  base::Result<Slot> choose(std::uint64_t key, std::span<const std::string> tried_labels);

  const std::string name_;
  const std::vector<std::shared_ptr<Member>> members_;
  mutable std::mutex mutex_;
  double retries_ = kMostRetries;  // guarded by mutex_; retries that are still allowed
  std::uint64_t num_retries_ = 0;  // guarded by mutex_
};

}  // namespace kvasir::upstream
