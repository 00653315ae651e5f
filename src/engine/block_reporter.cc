#include "engine/block_reporter.h"

#include <utility>

namespace kvasir::engine {

void BlockReporter::watch(std::shared_ptr<seam::BlockSink> sink) {
  std::shared_ptr<seam::BlockSink> old;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  old = std::exchange(wanted_, std::move(sink));
  is_new_ = true;
}

bool BlockReporter::has_news() const {
  const std::lock_guard lock(mutex_);
  return is_new_;
}

void BlockReporter::tell() {
  bool is_new = false;
  {
    const std::lock_guard lock(mutex_);
    is_new = std::exchange(is_new_, false);
    if (is_new) told_ = wanted_;
  }
  if (!told_) {
    if (is_new) blocks_->stop_following();
    return;
  }
  wire::BlockChanges changes{.anew = is_new};
  if (is_new) {
    changes.added = blocks_->follow();
  } else {
    kv::PublishedBlocks::Changes since = blocks_->take_changes();
    if (since.added.empty() && since.removed.empty()) return;
    changes.added = std::move(since.added);
    changes.removed = std::move(since.removed);
  }
  changes.number = ++number_;
  told_->on_blocks(std::move(changes));
}

}  // namespace kvasir::engine
