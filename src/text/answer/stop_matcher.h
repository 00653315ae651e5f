#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvasir::text {

// Stop strings, prepared once for all streams that look for them. Immutable; any thread may use it.
class StopPatterns {
 public:
  struct Pattern {
    std::string text;
    std::vector<std::size_t> fallback;  // [i]: longest proper prefix of `text` that ends at i (KMP)
  };

  // Takes the stop strings. Empty strings are ignored.
  explicit StopPatterns(std::vector<std::string> stops);
  const std::vector<Pattern>& all() const { return patterns_; }

 private:
  std::vector<Pattern> patterns_;
};

// Finds stop strings in text that arrives in pieces. The stop that ends first wins; if several end together,
// the longest wins. The result does not depend on how the text is cut. Only the longest tail that may still
// become a stop is held back. Used for one stream by one thread.
class StopMatcher {
 public:
  explicit StopMatcher(std::shared_ptr<const StopPatterns> patterns);

  // Returns the text that certainly comes before any stop. Empty after a stop was found.
  std::string push(std::string_view text);
  // Ends the stream. Returns the text that was held back.
  std::string flush();
  // The stop that was found; absent if none was.
  const std::optional<std::string>& found() const { return found_; }

 private:
  std::shared_ptr<const StopPatterns> patterns_;
  std::vector<std::size_t> matched_;  // [patterns]: matched bytes of each pattern
  std::string held_;
  std::optional<std::string> found_;
};

}  // namespace kvasir::text
