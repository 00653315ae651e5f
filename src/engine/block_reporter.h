#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "kv/published_blocks.h"
#include "seam/block_sink.h"

namespace kvasir::engine {

// Tells one watcher which blocks a cache holds: all of them first, then each step's changes. Costs a step
// nothing while nobody watches. `watch` may be called on any thread, also by the watcher while it is told;
// `tell` by the engine thread.
class BlockReporter {
 public:
  explicit BlockReporter(std::shared_ptr<kv::PublishedBlocks> blocks) : blocks_(std::move(blocks)) {}

  // Null: nobody.
  void watch(std::shared_ptr<seam::BlockSink> sink);
  // A watcher has not been told anything yet.
  bool has_news() const;
  // Tells the watcher what it does not know yet.
  void tell();

 private:
  const std::shared_ptr<kv::PublishedBlocks> blocks_;
  mutable std::mutex mutex_;
  std::shared_ptr<seam::BlockSink> wanted_;  // guarded by mutex_
  bool is_new_ = false;                      // guarded by mutex_
  std::shared_ptr<seam::BlockSink> told_;    // touched by `tell`
  std::uint64_t number_ = 0;                 // touched by `tell`; of the last message
};

}  // namespace kvasir::engine
