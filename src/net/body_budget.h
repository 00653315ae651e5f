#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace kvasir::net {

// The memory that all request bodies of a server share, or all its answers. Thread-safe.
class BodyBudget {
 public:
  explicit BodyBudget(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  std::size_t max_bytes() const { return max_bytes_; }
  std::size_t held_bytes() const { return held_; }

 private:
  friend class BodyShare;
  // Grows one body's share. Large bodies must leave a quarter to small ones, so that a few large bodies that
  // trickle in do not keep out all others. A body that is alone always fits, since it could never be read
  // otherwise.
  bool grow(std::size_t from, std::size_t to);
  void give_back(std::size_t bytes);

  const std::size_t max_bytes_;
  std::atomic<std::size_t> held_{0};
  std::atomic<std::size_t> peak_{0};  // since memory was last returned to the system
};

// The part of the budget that one body holds until it dies.
class BodyShare {
 public:
  explicit BodyShare(std::shared_ptr<BodyBudget> budget) : budget_(std::move(budget)) {}
  ~BodyShare() { budget_->give_back(bytes_); }
  BodyShare(const BodyShare&) = delete;
  BodyShare& operator=(const BodyShare&) = delete;

  // Makes the share at least `bytes`. False if the budget does not have that much left.
  bool cover(std::size_t bytes) {
    if (bytes <= bytes_) return true;
    if (!budget_->grow(bytes_, bytes)) return false;
    bytes_ = bytes;
    return true;
  }
  // Grows the share by `bytes`. False as above.
  bool add(std::size_t bytes) { return cover(bytes_ + bytes); }

 private:
  std::shared_ptr<BodyBudget> budget_;
  std::size_t bytes_ = 0;
};

}  // namespace kvasir::net
