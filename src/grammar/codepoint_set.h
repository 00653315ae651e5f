#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace kvasir::grammar {

// A set of Unicode scalar values: surrogates are never members.
class CodepointSet {
 public:
  static constexpr std::uint32_t kLast = 0x10FFFF;

  struct Range {
    std::uint32_t first;
    std::uint32_t last;
    auto operator<=>(const Range&) const = default;
  };

  CodepointSet() = default;
  CodepointSet(std::uint32_t first, std::uint32_t last) { add(first, last); }
  static CodepointSet all() { return {0, kLast}; }

  void add(std::uint32_t first, std::uint32_t last);
  void add(const CodepointSet& other);
  CodepointSet complement() const;
  CodepointSet intersect(const CodepointSet& other) const;
  CodepointSet minus(const CodepointSet& other) const { return intersect(other.complement()); }

  bool has(std::uint32_t codepoint) const;
  bool empty() const { return ranges_.empty(); }
  // Sorted, with gaps between them.
  const std::vector<Range>& ranges() const { return ranges_; }
  auto operator<=>(const CodepointSet&) const = default;

 private:
  std::vector<Range> ranges_;
};

}  // namespace kvasir::grammar
