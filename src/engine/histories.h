#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sched/sequence.h"

namespace kvasir::engine {

// Assigns a device's token histories to sequences. There are as many histories as sequences in a step, so the
// one that was used longest ago is free whenever a sequence needs one.
class Histories {
 public:
  explicit Histories(int count) : entries_(static_cast<std::size_t>(count)) {}

  struct Use {
    int history = 0;
    std::size_t num_counted = 0;  // tokens that the history has counted already; 0: it has to be cleared
  };
  // The history of the sequence, which will have counted its first `num_tokens` tokens.
  Use use(sched::SequenceId sequence, std::size_t num_tokens);

 private:
  struct Entry {
    sched::SequenceId sequence = 0;  // 0: it has none
    std::size_t num_counted = 0;
    std::int64_t last_used = 0;
  };
  std::vector<Entry> entries_;
  std::unordered_map<sched::SequenceId, std::size_t> by_sequence_;
  std::int64_t num_uses_ = 0;
};

}  // namespace kvasir::engine
