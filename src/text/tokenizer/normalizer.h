#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/chars_map.h"
#include "text/tokenizer/pattern.h"

namespace kvasir::text {

// A step of normalization, applied to text before it is split.
struct NormalizerStep {
  enum class Kind {
    nfc,  // Unicode's normalization forms
    nfd,
    nfkc,
    nfkd,
    replace,           // every `from` becomes `to`
    replace_matches,   // every match of `pattern` becomes `to`
    prepend,           // `to` is put before the text, unless the text is empty
    strip_left,        // removes white space
    strip_right,       // removes white space
    clean,             // removes control characters; all white space becomes spaces
    space_ideographs,  // puts spaces around each Chinese character
    strip_marks,       // removes nonspacing marks
    strip_all_marks,   // removes all marks
    lowercase,
    nmt,        // sentencepiece's old treatment of control characters and odd spaces
    chars_map,  // sentencepiece's compiled rules, `map`
  };
  Kind kind = Kind::nfc;
  std::string from{};
  std::string to{};
  std::shared_ptr<const Pattern> pattern{};
  std::shared_ptr<const CharsMap> map{};
};

// Applies the steps. `text` is valid UTF-8, and so is the result. Takes O(n log n) for any text.
std::string normalize(std::string_view text, const std::vector<NormalizerStep>& steps);

}  // namespace kvasir::text
