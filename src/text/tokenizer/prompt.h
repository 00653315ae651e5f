#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kvasir::text {

// The bytes [begin, end) of a text.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool operator==(const Range&) const = default;
};

// Text that remembers which of its bytes came from the request and which from the template. Invariant: the
// ranges in `from_input` are ascending and not empty, and they neither overlap nor touch.
struct Prompt {
  std::string text;
  std::vector<Range> from_input;

  void append(const Prompt& other);
  void append_literal(std::string_view bytes) { text += bytes; }
  void append_input(std::string_view bytes);
  // Returns bytes [begin, end) with their marks. Requires `begin <= end <= text.size()`.
  Prompt slice(std::size_t begin, std::size_t end) const;
  bool has_input() const { return !from_input.empty(); }
  // Whether any byte of [begin, end) came from the request.
  bool touches_input(std::size_t begin, std::size_t end) const;
};

}  // namespace kvasir::text
