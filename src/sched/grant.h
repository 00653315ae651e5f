#pragma once

#include <vector>

#include "kv/prefix_tree.h"
#include "sched/sequence.h"

namespace kvasir::sched {

// The rows that a plan gives to a sequence.
struct Grant {
  const Sequence* sequence = nullptr;
  int num_computed = 0;
  int num_rows = 0;
  bool admitted = false;
  kv::PrefixHit hit;   // of an admitted sequence
  int num_loaded = 0;  // blocks after the hit that are loaded, since they have come from elsewhere
  std::vector<kv::BlockId> new_blocks;

  int num_left() const { return sequence->num_tokens() - num_computed; }
  int num_old_blocks() const {
    return admitted ? static_cast<int>(hit.blocks.size()) : sequence->blocks.size();
  }
};

}  // namespace kvasir::sched
