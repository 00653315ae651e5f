#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kvasir::base {

// How a byte sequence begins.
struct Utf8Step {
  enum class Kind { character, invalid, incomplete };
  Kind kind = Kind::invalid;
  std::size_t size = 0;  // bytes of the character, or of the longest wrong or cut-off prefix; at least 1
  char32_t value = 0;    // of a character
};

// Looks at the first character of non-empty `bytes`. `incomplete` means that more bytes could complete it.
Utf8Step utf8_step(std::string_view bytes);

// Length of the longest prefix that is whole, valid characters.
std::size_t utf8_valid_prefix(std::string_view bytes);

// Of valid UTF-8.
std::size_t num_characters(std::string_view utf8);

void append_utf8(char32_t character, std::string& out);

// A stream of bytes into valid UTF-8, each wrong sequence replaced by one U+FFFD per maximal subpart, as
// Python's and Rust's lossy decoders do. The result does not depend on how the bytes are cut.
class Utf8Repair {
 public:
  void push(std::string_view bytes, std::string& out);
  // The stream ends here: a character still incomplete becomes U+FFFD.
  void finish(std::string& out);

 private:
  std::string held_;  // the beginning of a character; at most 3 bytes
};

}  // namespace kvasir::base
