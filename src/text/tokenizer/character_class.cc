#include "text/tokenizer/character_class.h"

namespace kvasir::text {
namespace {

constexpr auto kByCategory = [] {
  std::array<std::uint16_t, UTF8PROC_CATEGORY_CO + 1> classes{};
  classes[UTF8PROC_CATEGORY_LU] = classes[UTF8PROC_CATEGORY_LT] = kUpper;
  classes[UTF8PROC_CATEGORY_LL] = kLower;
  classes[UTF8PROC_CATEGORY_LM] = classes[UTF8PROC_CATEGORY_LO] = kCaseless;
  for (int c = UTF8PROC_CATEGORY_MN; c <= UTF8PROC_CATEGORY_ME; ++c) classes[c] = kMark;
  for (int c = UTF8PROC_CATEGORY_ND; c <= UTF8PROC_CATEGORY_NO; ++c) classes[c] = kNumber;
  for (int c = UTF8PROC_CATEGORY_PC; c <= UTF8PROC_CATEGORY_SO; ++c) classes[c] = kPunctuation;
  for (int c = UTF8PROC_CATEGORY_ZS; c <= UTF8PROC_CATEGORY_ZP; ++c) classes[c] = kSpace;
  return classes;
}();

}  // namespace

std::uint16_t class_beyond_ascii(char32_t character) {
  if (character == 0x85) return kSpace;
  return kByCategory[utf8proc_category(static_cast<utf8proc_int32_t>(character))];
}

bool is_white_space(char32_t character) {
  return ((character < 0x80 ? kAsciiClasses[character] : class_beyond_ascii(character)) & kSpace) != 0;
}

bool is_punctuation(char32_t character) {
  if (character < 0x80) return (kAsciiClasses[character] & kPunctuation) != 0;
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(character));
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

bool is_word_character(char32_t character) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(character));
  // In order: letters, marks, decimal and letter-like numbers, then the characters of Other_Alphabetic and
  // Join_Control.
  return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NL) ||
         category == UTF8PROC_CATEGORY_PC || (character >= 0x24B6 && character <= 0x24E9) ||
         (character >= 0x1F130 && character <= 0x1F149) || (character >= 0x1F150 && character <= 0x1F169) ||
         (character >= 0x1F170 && character <= 0x1F189) || character == 0x200C || character == 0x200D;
}

}  // namespace kvasir::text
