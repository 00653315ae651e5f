#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvasir::text {

// What happens to each token's spelling on its way to text.
struct DecoderStep {
  enum class Kind {
    byte_level,     // GPT-2's alphabet becomes bytes
    replace,        // every `from` becomes `to`
    byte_fallback,  // "<0x0A>" becomes its byte
    word_piece,     // without the prefix `from`, or after a space
    clean_up,       // no space before English punctuation and contractions
    space_mark,     // every `from` becomes a space; those of the first token go
    strip_left,     // up to `count` of `from`, one character
    strip_right,    // up to `count` of `from`, one character
    join_words,     // after a space
  };
  Kind kind = Kind::byte_level;
  std::string from{};
  std::string to{};
  int count = 0;
};

// Tokens to the bytes they stand for: each by itself, the first of a text perhaps differently, and then
// spaces at the beginning of the whole text may go. Immutable.
class Decoder {
 public:
  enum class Place { first, later };

  void add(DecoderStep step) { steps_.push_back(std::move(step)); }
  std::size_t num_steps() const { return steps_.size(); }
  void strip_spaces_of_text(int count) { leading_spaces_ += count; }

  // Steps end early where they have made the text too long to be a token's.
  std::string bytes(std::string_view spelling, Place place) const;
  // Whether the first token's bytes can differ from what they are elsewhere.
  bool first_differs() const;
  // How many spaces go from the beginning of a text.
  int leading_spaces() const { return leading_spaces_; }

 private:
  std::vector<DecoderStep> steps_;
  int leading_spaces_ = 0;
};

}  // namespace kvasir::text
