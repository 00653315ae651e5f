#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvasir::text {

// A step that turns a token's spelling into text.
struct DecoderStep {
  enum class Kind {
    byte_level,     // GPT-2's alphabet becomes bytes
    replace,        // every `from` becomes `to`
    byte_fallback,  // "<0x0A>" becomes its byte
    word_piece,     // later tokens lose the prefix `from`, or else get a space before them
    clean_up,       // removes spaces before English punctuation and contractions
    space_mark,     // every `from` becomes a space, or `to` in the first token
    strip_left,     // removes up to `count` of the character `from`
    strip_right,    // removes up to `count` of the character `from`
    join_words,     // puts a space before every token but the first
  };
  Kind kind = Kind::byte_level;
  std::string from{};
  std::string to{};
  int count = 0;
};

// Turns tokens into bytes. Each token is decoded on its own. The first token of a text may be decoded
// differently, and spaces at the beginning of the whole text may be dropped. Immutable.
class Decoder {
 public:
  enum class Place { first, later };

  void add(DecoderStep step) { steps_.push_back(std::move(step)); }
  std::size_t num_steps() const { return steps_.size(); }
  void strip_spaces_of_text(int count) { leading_spaces_ += count; }

  // Returns the bytes of a token. Stops early once the text is too long for a token.
  std::string bytes(std::string_view spelling, Place place) const;
  // Whether a token's bytes at the beginning of a text can differ from its bytes elsewhere.
  bool first_differs() const;
  // The number of spaces that are dropped from the beginning of a text.
  int leading_spaces() const { return leading_spaces_; }

 private:
  std::vector<DecoderStep> steps_;
  int leading_spaces_ = 0;
};

}  // namespace kvasir::text
