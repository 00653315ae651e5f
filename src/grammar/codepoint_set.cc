#include "grammar/codepoint_set.h"

#include <algorithm>

namespace kvasir::grammar {
namespace {

constexpr std::uint32_t kSurrogateFirst = 0xD800;
constexpr std::uint32_t kSurrogateLast = 0xDFFF;

}  // namespace

void CodepointSet::add(std::uint32_t first, std::uint32_t last) {
  last = std::min(last, kLast);
  if (first > last) return;
  if (first <= kSurrogateLast && last >= kSurrogateFirst) {
    if (first < kSurrogateFirst) add(first, kSurrogateFirst - 1);
    if (last > kSurrogateLast) add(kSurrogateLast + 1, last);
    return;
  }
  auto it = std::lower_bound(ranges_.begin(), ranges_.end(), first,
                             [](const Range& r, std::uint32_t f) { return r.last + 1 < f; });
  Range merged{first, last};
  auto end = it;
  while (end != ranges_.end() && end->first <= merged.last + 1) {
    merged.first = std::min(merged.first, end->first);
    merged.last = std::max(merged.last, end->last);
    ++end;
  }
  it = ranges_.erase(it, end);
  ranges_.insert(it, merged);
}

void CodepointSet::add(const CodepointSet& other) {
  for (const Range& r : other.ranges_) add(r.first, r.last);
}

CodepointSet CodepointSet::complement() const {
  CodepointSet out;
  std::uint32_t next = 0;
  for (const Range& r : ranges_) {
    if (r.first > next) out.add(next, r.first - 1);
    next = r.last + 1;
  }
  if (next <= kLast) out.add(next, kLast);
  return out;
}

CodepointSet CodepointSet::intersect(const CodepointSet& other) const {
  CodepointSet out;
  auto a = ranges_.begin();
  auto b = other.ranges_.begin();
  while (a != ranges_.end() && b != other.ranges_.end()) {
    const std::uint32_t first = std::max(a->first, b->first);
    const std::uint32_t last = std::min(a->last, b->last);
    if (first <= last) out.add(first, last);
    if (a->last < b->last) {
      ++a;
    } else {
      ++b;
    }
  }
  return out;
}

bool CodepointSet::has(std::uint32_t codepoint) const {
  const auto it = std::lower_bound(ranges_.begin(), ranges_.end(), codepoint,
                                   [](const Range& r, std::uint32_t c) { return r.last < c; });
  return it != ranges_.end() && it->first <= codepoint;
}

}  // namespace kvasir::grammar
