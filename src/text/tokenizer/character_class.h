#pragma once

#include <utf8proc.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace kvasir::text {

// The properties of characters that the split patterns of tokenizers use.
enum CharacterClass : std::uint16_t {
  kUpper = 1,          // Lu, Lt
  kLower = 2,          // Ll
  kCaseless = 4,       // Lm, Lo
  kMark = 8,           // M
  kNumber = 16,        // N
  kSpace = 32,         // \s in Hugging Face's engine: \t-\r, U+0085, Z
  kNewline = 64,       // \r, \n; they are spaces too
  kPunctuation = 128,  // P, S
};
inline constexpr std::uint16_t kLetter = kUpper | kLower | kCaseless;

constexpr std::uint16_t ascii_class(unsigned char c) {
  if (c >= 'A' && c <= 'Z') return kUpper;
  if (c >= 'a' && c <= 'z') return kLower;
  if (c >= '0' && c <= '9') return kNumber;
  if (c == '\r' || c == '\n') return kSpace | kNewline;
  if (c == ' ' || (c >= '\t' && c <= '\r')) return kSpace;
  return c > ' ' && c < 0x7F ? kPunctuation : 0;
}

inline constexpr auto kAsciiClasses = [] {
  std::array<std::uint16_t, 128> classes{};
  for (unsigned char c = 0; c < 128; ++c) classes[c] = ascii_class(c);
  return classes;
}();

std::uint16_t class_beyond_ascii(char32_t character);

struct ClassedCharacter {
  std::uint16_t classes = 0;
  std::uint8_t size = 1;  // bytes
};

// Decodes the character at `at`, which is not ASCII, and sets its size. The text is valid UTF-8.
inline char32_t decode_beyond_ascii(const char* at, std::uint8_t& size) {
  const auto byte = [at](int i) { return static_cast<char32_t>(static_cast<unsigned char>(at[i])); };
  if (byte(0) < 0xE0) {
    size = 2;
    return ((byte(0) & 0x1F) << 6) | (byte(1) & 0x3F);
  }
  if (byte(0) < 0xF0) {
    size = 3;
    return ((byte(0) & 0x0F) << 12) | ((byte(1) & 0x3F) << 6) | (byte(2) & 0x3F);
  }
  size = 4;
  return ((byte(0) & 0x07) << 18) | ((byte(1) & 0x3F) << 12) | ((byte(2) & 0x3F) << 6) | (byte(3) & 0x3F);
}

// Returns the character at `at`, its size and its classes. `at` points at the first byte of a character in
// valid UTF-8.
inline ClassedCharacter classify(const char* at) {
  const auto first = static_cast<unsigned char>(*at);
  if (first < 0x80) return {kAsciiClasses[first], 1};
  ClassedCharacter character;
  const char32_t value = decode_beyond_ascii(at, character.size);
  character.classes = class_beyond_ascii(value);
  return character;
}

// Returns the end of the longest run of characters that have any of `classes`.
inline const char* skip_run(const char* at, const char* end, std::uint16_t classes) {
  while (at < end) {
    const ClassedCharacter character = classify(at);
    if ((character.classes & classes) == 0) break;
    at += character.size;
  }
  return at;
}

// Returns the end of the longest run of characters that have none of `classes`.
inline const char* skip_run_without(const char* at, const char* end, std::uint16_t classes) {
  while (at < end) {
    const ClassedCharacter character = classify(at);
    if ((character.classes & classes) != 0) break;
    at += character.size;
  }
  return at;
}

// Whether the character is white space as Unicode and Rust define it.
bool is_white_space(char32_t character);
// Whether the character is punctuation as BERT defines it: P, and all of ASCII's symbols.
bool is_punctuation(char32_t character);
// Whether the character is a word character: \w as Rust's regular expressions define it.
bool is_word_character(char32_t character);

}  // namespace kvasir::text
