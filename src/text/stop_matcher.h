#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvasir::text {

// Looks for stop strings in text that arrives in pieces. The stop that ends first wins, the longest of those
// that end together; the result does not depend on how the text is cut. Holds back only the longest tail that
// could still become a stop. One stream, one thread.
class StopMatcher {
 public:
  // Empty strings are ignored.
  explicit StopMatcher(std::vector<std::string> stops);

  // Text that is certain to come before any stop. After a stop was found there is no more.
  std::string push(std::string_view text);
  // What was held back, at the end of the stream.
  std::string flush();
  // The stop that was found.
  const std::optional<std::string>& found() const { return found_; }

 private:
  struct Pattern {
    std::string text;
    std::vector<std::size_t> fallback;  // [size]: longest proper border of text[0, i]
    std::size_t matched = 0;            // how much of `text` the input's tail spells
  };

  void advance(Pattern& pattern, char c);

  std::vector<Pattern> patterns_;
  std::string held_;
  std::optional<std::string> found_;
};

}  // namespace kvasir::text
