#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "kv/block_image.h"

namespace kvasir::kv {

// The next blocks of a prompt, on their way from another worker to a sequence that waits for them. The
// fetching side adds blocks, on any thread. The engine takes the blocks that have come when all are there,
// when no more will come, or when it has waited long enough. The waiting side destroys the object.
// Thread-safe.
class ArrivingBlocks {
 public:
  // Blocks [first, end) of the chain. `on_gone` is called on destruction, when nobody waits any more.
  ArrivingBlocks(std::size_t first, std::size_t end, double patience_s, std::function<void()> on_gone = {})
      : end_(end), patience_s_(patience_s), on_gone_(std::move(on_gone)) {
    came_.first = first;
  }
  ~ArrivingBlocks() {
    if (on_gone_) on_gone_();
  }
  ArrivingBlocks(const ArrivingBlocks&) = delete;
  ArrivingBlocks& operator=(const ArrivingBlocks&) = delete;

  std::size_t end() const { return end_; }
  // How long a sequence waits for the blocks at most.
  double patience_s() const { return patience_s_; }

  // Adds the next block.
  void add(std::shared_ptr<const BlockImage> image) {
    const std::lock_guard lock(mutex_);
    came_.images.push_back(std::move(image));
  }
  // Says that no more blocks will come.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }

  bool settled() const {
    const std::lock_guard lock(mutex_);
    return closed_ || came_.end() == end_;
  }
  // Returns the blocks that have come. Called once.
  BlockImages take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(came_, {});
  }

 private:
  const std::size_t end_;
  const double patience_s_;
  const std::function<void()> on_gone_;
  mutable std::mutex mutex_;
  BlockImages came_;     // guarded by mutex_
  bool closed_ = false;  // guarded by mutex_
};

}  // namespace kvasir::kv
