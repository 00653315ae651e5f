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

// The upstreams that answer for one name, and who of them gets a request. Thread-safe.
class Pool {
 public:
  // The first retries need no requests before them.
  static constexpr double kMostRetries = 10;
  static constexpr double kRetriesPerRequest = 0.2;

  // `members` is not empty.
  Pool(std::string name, std::vector<std::shared_ptr<Member>> members);

  const std::string& name() const { return name_; }
  const std::vector<std::shared_ptr<Member>>& members() const { return members_; }
  // Whether a member is there that could take requests, if it is not full.
  bool is_up() const;
  // The least of its members' that is known; 0: none is.
  int context_length() const;
  // Requests that its members may have at a time.
  int max_in_flight() const;

  // A place for a request whose conversation begins with `key`. exhausted: all that take requests are full;
  // unavailable: none takes any.
  base::Result<Slot> pick(std::uint64_t key);
  // A place at another member for a request that has failed before it said anything. Nothing: there is none,
  // or there were too many of these lately.
  std::optional<Slot> pick_again(std::uint64_t key, std::span<const std::string> tried_labels);
  std::uint64_t num_retries() const;

 private:
  base::Result<Slot> choose(std::uint64_t key, std::span<const std::string> tried_labels);

  const std::string name_;
  const std::vector<std::shared_ptr<Member>> members_;
  mutable std::mutex mutex_;
  double retries_ = kMostRetries;  // guarded by mutex_; that may still be made
  std::uint64_t num_retries_ = 0;  // guarded by mutex_
};

}  // namespace kvasir::upstream
