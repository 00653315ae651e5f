#pragma once

#include "wire/block_changes.h"

namespace kvasir::seam {

// Gets the changes of the blocks in a worker's cache.
class BlockSink {
 public:
  virtual ~BlockSink() = default;
  // Called on any thread, one call at a time, in the order of the messages' numbers. Must not wait. May call
  // WorkerClient::watch_blocks, which begins anew after a gap.
  virtual void on_blocks(wire::BlockChanges changes) = 0;
};

}  // namespace kvasir::seam
