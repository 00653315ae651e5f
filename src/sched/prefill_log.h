#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "wire/token_event.h"

namespace kvasir::sched {

// Records the steps that computed a sequence's prompt, for traces. Steps end in the order in which they
// began. Bounded: the last chunk stands for step kMaxChunks and all later ones.
class PrefillLog {
 public:
  static constexpr std::size_t kMaxChunks = 32;

  void begin(std::int64_t step, int num_tokens, double now_s) {
    ++num_open_;
    if (chunks_.size() < kMaxChunks) {
      chunks_.push_back({.step = step, .num_tokens = num_tokens, .began_s = now_s, .ended_s = now_s});
      return;
    }
    ++chunks_.back().num_steps;
    chunks_.back().num_tokens += num_tokens;
  }

  // Ends the oldest step that has not ended.
  void end(double now_s) {
    if (num_open_ == 0) return;
    --num_open_;
    if (num_ended_ >= chunks_.size()) return;
    chunks_[num_ended_].ended_s = now_s;
    if (num_ended_ + 1 < kMaxChunks) ++num_ended_;
  }

  std::vector<wire::PrefillChunk> take() {
    num_ended_ = 0;
    return std::exchange(chunks_, {});
  }

 private:
  std::vector<wire::PrefillChunk> chunks_;
  std::size_t num_ended_ = 0;  // index of the chunk whose step ends next
  std::size_t num_open_ = 0;   // steps that have begun and not ended
};

}  // namespace kvasir::sched
