#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/chars_map.h"
#include "text/tokenizer/pattern.h"

namespace kvasir::text {

// What happens to text before it is split, in order.
struct NormalizerStep {
  enum class Kind {
    nfc,  // Unicode's normalization forms
    nfd,
    nfkc,
    nfkd,
    replace,           // every `from` becomes `to`
    replace_matches,   // every match of `pattern` becomes `to`
    prepend,           // `to` goes first, unless the text is empty
    strip_left,        // white space goes
    strip_right,       // white space goes
    clean,             // control characters go, every white space becomes a space
    space_ideographs,  // spaces around each Chinese character
    strip_marks,       // nonspacing marks go
    strip_all_marks,   // all marks go
    lowercase,
    nmt,        // sentencepiece's old cleaning of control characters and odd spaces
    chars_map,  // sentencepiece's compiled rules, `map`
  };
  Kind kind = Kind::nfc;
  std::string from{};
  std::string to{};
  std::shared_ptr<const Pattern> pattern{};
  std::shared_ptr<const CharsMap> map{};
};

// `text` is valid UTF-8, and so is the result. O(n log n) whatever the text.
std::string normalize(std::string_view text, const std::vector<NormalizerStep>& steps);

}  // namespace kvasir::text
