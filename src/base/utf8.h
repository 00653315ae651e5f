#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kvasir::base {

// The first character, or invalid prefix, of a byte sequence.
struct Utf8Step {
  enum class Kind { character, invalid, incomplete };
  Kind kind = Kind::invalid;
  std::size_t size = 0;  // bytes of the character, or of the longest invalid or incomplete prefix; at least 1
  char32_t value = 0;    // the code point, if it is a character
};

// Examines the first character of non-empty `bytes`. `incomplete` means that more bytes could complete it.
Utf8Step utf8_step(std::string_view bytes);

// The length of the longest prefix of complete, valid characters.
std::size_t utf8_valid_prefix(std::string_view bytes);

// Requires valid UTF-8.
std::size_t num_characters(std::string_view utf8);

void append_utf8(char32_t character, std::string& out);

// Turns a stream of bytes into valid UTF-8. Each maximal invalid subpart becomes one U+FFFD, as in the lossy
// decoders of Python and Rust. The result does not depend on how the stream is divided into calls.
class Utf8Repair {
 public:
  void push(std::string_view bytes, std::string& out);
  // Ends the stream. A character that is still incomplete becomes U+FFFD.
  void finish(std::string& out);

 private:
  std::string held_;  // the beginning of a character; at most 3 bytes
};

}  // namespace kvasir::base
