#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/prompt.h"

namespace kvasir::text::jinja {

// Python's view of a string: a sequence of characters.

std::size_t count_characters(std::string_view text);
// Where character `index` begins; the end of the text where there are fewer.
std::size_t character_offset(std::string_view text, std::size_t index);
// Where each character begins, and the end.
std::vector<std::size_t> character_offsets(std::string_view text);

// As std::string::find and rfind, and linear in the sizes together.
std::size_t find_text(std::string_view text, std::string_view part, std::size_t from = 0);
std::size_t find_last_text(std::string_view text, std::string_view part);

// What str.strip() and str.split() count as space.
bool is_space(char32_t character);

// Bytes [begin, end) that remain when the characters of `set`, or space where it is null, go from the ends.
enum class Side { left, right, both };
Range stripped(std::string_view text, const std::string* set, Side side);

// Lines without their ends, as str.splitlines() finds them.
std::vector<Range> lines_of(std::string_view text);

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string folded(std::string_view text);  // str.casefold()
std::string swapped_case(std::string_view text);
// First character up, the others down.
std::string capitalized(std::string_view text);
// The same for each word, where a word begins after whatever `begins_word_after` is true of.
enum class Capital { upper, title };  // they differ for ligatures: FI and Fi
std::string titled(std::string_view text, bool (*begins_word_after)(char32_t), Capital capital);
bool is_letter(char32_t character);
bool is_cased(char32_t character);
bool is_numeric(char32_t character);
bool is_printable(char32_t character);  // what repr() shows as it is
// str.islower() and str.isupper(): some letter has a case, and none the other.
bool is_lower_text(std::string_view text);
bool is_upper_text(std::string_view text);

// A text whose marked and unmarked parts were each changed by `change`.
Prompt changed(const Prompt& text, std::string (*change)(std::string_view));
// All of it marked where any part of `origin` was.
Prompt marked_like(std::string text, const Prompt& origin);

}  // namespace kvasir::text::jinja
