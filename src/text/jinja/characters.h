#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/prompt.h"

namespace kvasir::text::jinja {

// Counts characters, as Python's len() does.
std::size_t count_characters(std::string_view text);
// Returns where character `index` begins, or the end of the text if there are fewer characters.
std::size_t character_offset(std::string_view text, std::size_t index);
// Returns where each character begins and, as the last entry, the end of the text.
std::vector<std::size_t> character_offsets(std::string_view text);

// Like std::string::find and rfind, but linear in the sum of the sizes.
std::size_t find_text(std::string_view text, std::string_view part, std::size_t from = 0);
std::size_t find_last_text(std::string_view text, std::string_view part);

// Whether str.strip() and str.split() treat the character as space.
bool is_space(char32_t character);

// Returns the bytes that remain after stripping the characters of `set`, or spaces if `set` is null.
enum class Side { left, right, both };
Range stripped(std::string_view text, const std::string* set, Side side);

// Returns the lines without their ends, as str.splitlines() does.
std::vector<Range> lines_of(std::string_view text);

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string folded(std::string_view text);  // str.casefold()
std::string swapped_case(std::string_view text);
// Changes the first character to upper case and the others to lower case.
std::string capitalized(std::string_view text);
// Capitalizes each word. A word begins after every character for which `begins_word_after` is true.
enum class Capital { upper, title };  // they differ for ligatures: U+FB01 becomes FI or Fi
std::string titled(std::string_view text, bool (*begins_word_after)(char32_t), Capital capital);
bool is_letter(char32_t character);
bool is_cased(char32_t character);
bool is_numeric(char32_t character);
bool is_printable(char32_t character);  // repr() shows it unescaped
// Implement str.islower() and str.isupper(): at least one letter has the case, and none has the other case.
bool is_lower_text(std::string_view text);
bool is_upper_text(std::string_view text);

// Applies `change` to the marked and unmarked parts of a text separately.
Prompt changed(const Prompt& text, std::string (*change)(std::string_view));
// Returns the text, marked entirely as input if any part of `origin` was input.
Prompt marked_like(std::string text, const Prompt& origin);

}  // namespace kvasir::text::jinja
