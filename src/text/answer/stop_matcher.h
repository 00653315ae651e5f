#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvasir::text {

// Stop strings, prepared once for all streams that look for them. Immutable, so any thread may use it.
class StopPatterns {
 public:
  struct Pattern {
    std::string text;
    std::vector<std::size_t> fallback;  // at i: length of the longest prefix of `text` that ends at i (KMP)
  };

  // Empty strings are ignored.
  explicit StopPatterns(std::vector<std::string> stops);
  const std::vector<Pattern>& all() const { return patterns_; }

 private:
  std::vector<Pattern> patterns_;
};

// Finds stop strings in text that arrives in pieces. The stop that ends first wins, and the longest of those
// that end together. The result does not depend on how the text is cut. Holds back only the longest tail that
// may still become a stop. Used for one stream by one thread.
class StopMatcher {
 public:
  explicit StopMatcher(std::shared_ptr<const StopPatterns> patterns);

  // Text that is certain to come before any stop. Empty after a stop was found.
  std::string push(std::string_view text);
  // The text that was held back, at the end of the stream.
  std::string flush();
  // The stop that was found.
  const std::optional<std::string>& found() const { return found_; }

 private:
  std::shared_ptr<const StopPatterns> patterns_;
  std::vector<std::size_t> matched_;  // [patterns]: matched bytes of each pattern
  std::string held_;
  std::optional<std::string> found_;
};

}  // namespace kvasir::text
