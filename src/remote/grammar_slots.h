#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "grammar/grammar_source.h"

namespace kvasir::remote {

// Which grammars the other side remembers, so that each source is sent once. The gateway chooses the slot;
// the worker keeps the source that came with it. A new source replaces the least recently used one. Touched
// by one thread at a time.
class GrammarSlots {
 public:
  static constexpr std::uint32_t kMost = 64;  // numbered from 1 on

  struct Place {
    std::uint32_t slot = 0;
    bool is_new = false;  // the source has to be sent
  };
  Place place(const std::shared_ptr<const grammar::GrammarSource>& source) {
    std::uint32_t oldest = 0;
    for (std::uint32_t i = 0; i < kMost; ++i) {
      Slot& slot = slots_[i];
      if (slot.source && same(*slot.source, *source)) {
        slot.used = ++clock_;
        return {i + 1, false};
      }
      if (slot.used < slots_[oldest].used) oldest = i;
    }
    slots_[oldest] = {source, ++clock_};
    return {oldest + 1, true};
  }

 private:
  struct Slot {
    std::shared_ptr<const grammar::GrammarSource> source;
    std::uint64_t used = 0;
  };
  static bool same(const grammar::GrammarSource& a, const grammar::GrammarSource& b) {
    return &a == &b || (a.kind == b.kind && a.preamble == b.preamble &&
                        a.json.max_whitespace == b.json.max_whitespace && a.text == b.text);
  }

  std::array<Slot, kMost> slots_;
  std::uint64_t clock_ = 0;
};

}  // namespace kvasir::remote
