#include "engine/histories.h"

#include <algorithm>

#include "base/check.h"

namespace kvasir::engine {

Histories::Use Histories::use(sched::SequenceId sequence, std::size_t num_tokens) {
  const auto known = by_sequence_.find(sequence);
  auto index =
      static_cast<std::size_t>(std::ranges::min_element(entries_, {}, &Entry::last_used) - entries_.begin());
  if (known != by_sequence_.end()) {
    index = known->second;
  } else {
    CHECK(index < entries_.size(), "no histories");
    by_sequence_.erase(entries_[index].sequence);
    by_sequence_.emplace(sequence, index);
    entries_[index] = {.sequence = sequence};
  }
  Entry& entry = entries_[index];
  const std::size_t num_counted = entry.num_counted <= num_tokens ? entry.num_counted : 0;
  entry.num_counted = num_tokens;
  entry.last_used = ++num_uses_;
  return {static_cast<int>(index), num_counted};
}

}  // namespace kvasir::engine
