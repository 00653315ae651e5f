#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "kv/published_blocks.h"
#include "seam/block_sink.h"

namespace kvasir::engine {

// Reports to one watcher which blocks a cache holds: all of them first, then each step's changes. Costs a
// step nothing while nobody watches. `watch` may be called on any thread, even by the watcher during a
// report. `tell` is called by the engine thread only.
class BlockReporter {
 public:
  explicit BlockReporter(std::shared_ptr<kv::PublishedBlocks> blocks) : blocks_(std::move(blocks)) {}

  // Replaces the watcher. Null: nobody watches.
  void watch(std::shared_ptr<seam::BlockSink> sink);
  // True if `watch` was called since the last `tell`.
  bool has_news() const;
  // Sends the watcher a report: all blocks to a new watcher, else the changes, if there are any.
  void tell();

 private:
  const std::shared_ptr<kv::PublishedBlocks> blocks_;
  mutable std::mutex mutex_;
  std::shared_ptr<seam::BlockSink> wanted_;  // guarded by mutex_
  bool is_new_ = false;                      // guarded by mutex_
  std::shared_ptr<seam::BlockSink> told_;    // touched by `tell`
  std::uint64_t number_ = 0;                 // touched by `tell`; number of the last message
};

}  // namespace kvasir::engine
