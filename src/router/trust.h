#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace kvasir::router {

// The results of comparing answers of one pool's members, and the members that were taken out for wrong
// answers. Thread-safe.
class Trust {
 public:
  // Named instead of a member if nobody could tell who was wrong.
  static constexpr std::string_view kUndecided = "undecided";
  // Bounds the counts, since members may come and go under new names.
  static constexpr std::size_t kMostCounts = 256;

  void count_check() {
    const std::lock_guard lock(mutex_);
    ++num_checks_;
  }
  // `member` is the one that was wrong, or kUndecided.
  void count_disagreement(const std::string& member) {
    const std::lock_guard lock(mutex_);
    if (disagreements_.size() < kMostCounts || disagreements_.contains(member)) ++disagreements_[member];
  }
  void distrust(const std::string& member) {
    const std::lock_guard lock(mutex_);
    distrusted_.insert(member);
  }
  void trust_again(std::string_view member) {
    const std::lock_guard lock(mutex_);
    distrusted_.erase(std::string(member));
  }

  bool is_distrusted(std::string_view member) const {
    const std::lock_guard lock(mutex_);
    return distrusted_.contains(std::string(member));
  }
  std::size_t num_distrusted() const {
    const std::lock_guard lock(mutex_);
    return distrusted_.size();
  }
  std::uint64_t num_checks() const {
    const std::lock_guard lock(mutex_);
    return num_checks_;
  }
  std::map<std::string, std::uint64_t> disagreements() const {
    const std::lock_guard lock(mutex_);
    return disagreements_;
  }

 private:
  mutable std::mutex mutex_;
  std::uint64_t num_checks_ = 0;                        // guarded by mutex_
  std::map<std::string, std::uint64_t> disagreements_;  // guarded by mutex_; by the member that was wrong
  std::set<std::string> distrusted_;                    // guarded by mutex_
};

}  // namespace kvasir::router
