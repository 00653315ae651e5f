#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvasir::text {

// What happens to text before it is split, in order.
struct NormalizerStep {
  enum class Kind {
    nfc,               // Unicode normalization form C
    replace,           // every `from` becomes `to`
    prepend,           // `to` goes first, unless the text is empty
    prefix_space,      // a space goes first, unless one is there
    clean,             // control characters go, every white space becomes a space
    space_ideographs,  // spaces around each Chinese character
    strip_accents,     // decomposed, without the marks
    lowercase,
  };
  Kind kind = Kind::nfc;
  std::string from;
  std::string to;
};

// `text` is valid UTF-8, and so is the result. O(n log n) whatever the text.
std::string normalize(std::string_view text, const std::vector<NormalizerStep>& steps);

}  // namespace kvasir::text
