#include "text/tokenizer/prompt.h"

#include <algorithm>

#include "base/check.h"

namespace kvasir::text {
namespace {

void add_range(std::vector<Range>& ranges, Range range) {
  if (range.begin == range.end) return;
  if (!ranges.empty() && ranges.back().end == range.begin) {
    ranges.back().end = range.end;
  } else {
    ranges.push_back(range);
  }
}

// Returns the first range that ends after `position`.
std::vector<Range>::const_iterator first_after(const std::vector<Range>& ranges, std::size_t position) {
  return std::upper_bound(ranges.begin(), ranges.end(), position,
                          [](std::size_t at, const Range& range) { return at < range.end; });
}

}  // namespace

void Prompt::append(const Prompt& other) {
  const std::size_t offset = text.size();
  text += other.text;
  for (const Range& range : other.from_input) {
    add_range(from_input, {range.begin + offset, range.end + offset});
  }
}

void Prompt::append_input(std::string_view bytes) {
  const std::size_t begin = text.size();
  text += bytes;
  add_range(from_input, {begin, text.size()});
}

Prompt Prompt::slice(std::size_t begin, std::size_t end) const {
  CHECK(begin <= end && end <= text.size());
  Prompt part{.text = text.substr(begin, end - begin), .from_input = {}};
  for (auto range = first_after(from_input, begin); range != from_input.end() && range->begin < end;
       ++range) {
    add_range(part.from_input, {std::max(range->begin, begin) - begin, std::min(range->end, end) - begin});
  }
  return part;
}

bool Prompt::touches_input(std::size_t begin, std::size_t end) const {
  const auto range = first_after(from_input, begin);
  return range != from_input.end() && range->begin < end;
}

}  // namespace kvasir::text
