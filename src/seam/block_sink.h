#pragma once

#include "wire/block_changes.h"

namespace kvasir::seam {

// Who wants to know which blocks a worker's cache holds.
class BlockSink {
 public:
  virtual ~BlockSink() = default;
  // Called on any thread, one call at a time, in the order of the messages' numbers. Never waits. May call
  // WorkerClient::watch_blocks: after a gap that is how to begin anew.
  virtual void on_blocks(wire::BlockChanges changes) = 0;
};

}  // namespace kvasir::seam
