#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "router/block_index.h"
#include "seam/block_sink.h"
#include "seam/worker_client.h"

namespace kvasir::router {

// Writes the blocks that one member reports into the index. After a lost message it subscribes again, and the
// index keeps what it knows until the member has reported all its blocks anew. Thread-safe.
class BlockFollower final : public seam::BlockSink, public std::enable_shared_from_this<BlockFollower> {
 public:
  // Null: the index has no number left for the member, so its blocks stay unknown.
  static std::shared_ptr<BlockFollower> begin(const std::shared_ptr<BlockIndex>& index,
                                              const std::shared_ptr<seam::WorkerClient>& worker);
  BlockFollower(std::shared_ptr<BlockIndex> index, std::weak_ptr<seam::WorkerClient> worker, int number)
      : index_(std::move(index)), worker_(std::move(worker)), number_(number) {}

  void on_blocks(wire::BlockChanges changes) override;
  // Takes the member and its blocks out of the index. Later messages of the member are ignored.
  void end();
  // The member's number in the index.
  int number() const { return number_; }

 private:
  const std::shared_ptr<BlockIndex> index_;
  const std::weak_ptr<seam::WorkerClient> worker_;
  const int number_;
  std::mutex mutex_;
  bool ended_ = false;      // guarded by mutex_
  bool asked_ = true;       // guarded by mutex_; a message with all blocks is on its way
  std::uint64_t last_ = 0;  // guarded by mutex_; the number of the last message
};

}  // namespace kvasir::router
