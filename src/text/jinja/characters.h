#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "text/prompt.h"

namespace kvasir::text::jinja {

// Python's view of a string: a sequence of characters.

std::size_t count_characters(std::string_view text);
// Where character `index` begins; the end of the text where there are fewer.
std::size_t character_offset(std::string_view text, std::size_t index);
// Where each character begins, and the end.
std::vector<std::size_t> character_offsets(std::string_view text);

// What str.strip() and str.split() count as space.
bool is_space(char32_t character);

// Bytes [begin, end) that remain when the characters of `set`, or space where it is null, go from the ends.
enum class Side { left, right, both };
Range stripped(std::string_view text, const std::string* set, Side side);

// Lines without their ends, as str.splitlines() finds them.
std::vector<Range> lines_of(std::string_view text);

std::string upper(std::string_view text);
std::string lower(std::string_view text);
// First character up, the others down.
std::string capitalized(std::string_view text);
// The same for each word, where a word begins after whatever `after` is true of.
std::string titled(std::string_view text, bool (*begins_word_after)(char32_t));
bool is_letter(char32_t character);

// A text whose marked and unmarked parts were each changed by `change`.
Prompt changed(const Prompt& text, std::string (*change)(std::string_view));
// All of it marked where any part of `origin` was.
Prompt marked_like(std::string text, const Prompt& origin);

}  // namespace kvasir::text::jinja
