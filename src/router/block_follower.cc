#include "router/block_follower.h"

#include <utility>

namespace kvasir::router {

std::shared_ptr<BlockFollower> BlockFollower::begin(const std::shared_ptr<BlockIndex>& index,
                                                    const std::shared_ptr<seam::WorkerClient>& worker) {
  const std::optional<int> number = index->join();
  if (!number) return nullptr;
  auto follower = std::make_shared<BlockFollower>(index, worker, *number);
  worker->watch_blocks(follower);
  return follower;
}

void BlockFollower::on_blocks(wire::BlockChanges changes) {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    if (changes.anew) {
      asked_ = false;
      last_ = changes.number;
      return index_->replace(number_, changes.added);
    }
    if (asked_) return;
    if (changes.number == last_ + 1) {
      last_ = changes.number;
      index_->remove(number_, changes.removed);
      return index_->add(number_, changes.added);
    }
    asked_ = true;
  }
  if (const auto worker = worker_.lock()) worker->watch_blocks(shared_from_this());
}

void BlockFollower::end() {
  if (const auto worker = worker_.lock()) worker->watch_blocks(nullptr);
  const std::lock_guard lock(mutex_);
  if (std::exchange(ended_, true)) return;
  index_->leave(number_);
}

}  // namespace kvasir::router
