#include "text/jinja/characters.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/utf8.h"
#include "text/jinja/long_capitals.h"

namespace kvasir::text::jinja {
namespace {

// `map(character, out)` appends the replacement of the character.
template <class Map>
std::string mapped(std::string_view text, Map map) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const base::Utf8Step step = base::utf8_step(text);
    if (step.kind == base::Utf8Step::Kind::character) {
      map(step.value, out);
    } else {
      out += text.substr(0, step.size);
    }
    text.remove_prefix(step.size);
  }
  return out;
}

const LongCapital* long_capital(char32_t c) {
  const auto found =
      std::lower_bound(kLongCapitals.begin(), kLongCapitals.end(), c,
                       [](const LongCapital& entry, char32_t at) { return entry.character < at; });
  return found != kLongCapitals.end() && found->character == c ? &*found : nullptr;
}

void append_upper(char32_t c, std::string& out) {
  if (const LongCapital* found = c < 0x80 ? nullptr : long_capital(c)) {
    for (const char32_t part : found->upper) base::append_utf8(part, out);
    return;
  }
  base::append_utf8(static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))), out);
}

void append_title(char32_t c, std::string& out) {
  if (const LongCapital* found = c < 0x80 ? nullptr : long_capital(c)) {
    for (const char32_t part : found->title) base::append_utf8(part, out);
    return;
  }
  base::append_utf8(static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))), out);
}

void append_lower(char32_t c, std::string& out) {
  // U+0130 is the only character whose lower case is two characters.
  if (c == 0x130)
    out += "i\u0307";
  else
    base::append_utf8(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))), out);
}

bool is_line_end(char32_t c) {
  return (c >= '\n' && c <= '\r') || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool in_set(std::string_view character, char32_t value, const std::string* set) {
  return set == nullptr ? is_space(value) : set->find(character) != std::string::npos;
}

std::size_t last_character(std::string_view text) {
  std::size_t at = text.size() - 1;
  while (at > 0 && text.size() - at < 4 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

}  // namespace

std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(base::utf8_step(text).size);
  return count;
}

std::size_t character_offset(std::string_view text, std::size_t index) {
  std::size_t at = 0;
  for (; index > 0 && at < text.size(); --index) at += base::utf8_step(text.substr(at)).size;
  return at;
}

std::vector<std::size_t> character_offsets(std::string_view text) {
  std::vector<std::size_t> offsets;
  std::size_t at = 0;
  while (at < text.size()) {
    offsets.push_back(at);
    at += base::utf8_step(text.substr(at)).size;
  }
  offsets.push_back(text.size());
  return offsets;
}

std::size_t find_text(std::string_view text, std::string_view part, std::size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (part.empty()) return from;
  const void* found = ::memmem(text.data() + from, text.size() - from, part.data(), part.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

std::size_t find_last_text(std::string_view text, std::string_view part) {
  if (part.empty()) return text.size();
  // With a short part, rfind is not slow.
  if (part.size() < 32) return text.rfind(part);
  const std::string backwards(text.rbegin(), text.rend());
  const std::size_t found = find_text(backwards, std::string(part.rbegin(), part.rend()));
  return found == std::string::npos ? found : text.size() - found - part.size();
}

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool is_letter(char32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool is_cased(char32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL ||
         category == UTF8PROC_CATEGORY_LT;
}

bool is_numeric(char32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
         category == UTF8PROC_CATEGORY_NO;
}

bool is_printable(char32_t c) {
  if (c == ' ') return true;
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category != UTF8PROC_CATEGORY_CN && category < UTF8PROC_CATEGORY_ZS;
}

namespace {

bool all_in_case(std::string_view text, utf8proc_category_t wanted, utf8proc_category_t other) {
  bool found = false;
  while (!text.empty()) {
    const base::Utf8Step step = base::utf8_step(text);
    const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(step.value));
    if (category == other || category == UTF8PROC_CATEGORY_LT) return false;
    found = found || category == wanted;
    text.remove_prefix(step.size);
  }
  return found;
}

}  // namespace

bool is_lower_text(std::string_view text) {
  return all_in_case(text, UTF8PROC_CATEGORY_LL, UTF8PROC_CATEGORY_LU);
}

bool is_upper_text(std::string_view text) {
  return all_in_case(text, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LL);
}

Range stripped(std::string_view text, const std::string* set, Side side) {
  std::size_t begin = 0;
  std::size_t end = text.size();
  while (side != Side::right && begin < end) {
    const base::Utf8Step step = base::utf8_step(text.substr(begin, end - begin));
    if (!in_set(text.substr(begin, step.size), step.value, set)) break;
    begin += step.size;
  }
  while (side != Side::left && begin < end) {
    const std::size_t last = begin + last_character(text.substr(begin, end - begin));
    const std::string_view character = text.substr(last, end - last);
    if (!in_set(character, base::utf8_step(character).value, set)) break;
    end = last;
  }
  return {begin, end};
}

std::vector<Range> lines_of(std::string_view text) {
  std::vector<Range> lines;
  std::size_t begin = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const base::Utf8Step step = base::utf8_step(text.substr(at));
    if (!is_line_end(step.value) || step.kind != base::Utf8Step::Kind::character) {
      at += step.size;
      continue;
    }
    lines.push_back({begin, at});
    at += text.substr(at, 2) == "\r\n" ? 2 : step.size;
    begin = at;
  }
  if (begin < text.size()) lines.push_back({begin, text.size()});
  return lines;
}

std::string upper(std::string_view text) {
  return mapped(text, append_upper);
}

std::string lower(std::string_view text) {
  return mapped(text, append_lower);
}

std::string folded(std::string_view text) {
  return mapped(text, [](char32_t c, std::string& out) {
    std::array<utf8proc_int32_t, 8> parts{};
    int boundary = 0;
    const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(), parts.size(),
                                               UTF8PROC_CASEFOLD, &boundary);
    for (utf8proc_ssize_t i = 0; i < count && i < static_cast<utf8proc_ssize_t>(parts.size()); ++i)
      base::append_utf8(static_cast<char32_t>(parts[static_cast<std::size_t>(i)]), out);
  });
}

std::string swapped_case(std::string_view text) {
  return mapped(text, [](char32_t c, std::string& out) {
    const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
    if (category == UTF8PROC_CATEGORY_LU)
      append_lower(c, out);
    else if (category == UTF8PROC_CATEGORY_LL)
      append_upper(c, out);
    else
      base::append_utf8(c, out);
  });
}

std::string capitalized(std::string_view text) {
  bool first = true;
  return mapped(text, [&first](char32_t c, std::string& out) {
    return std::exchange(first, false) ? append_title(c, out) : append_lower(c, out);
  });
}

std::string titled(std::string_view text, bool (*begins_word_after)(char32_t), Capital capital) {
  bool begins = true;
  return mapped(text, [&](char32_t c, std::string& out) {
    const bool raise = begins;
    begins = begins_word_after(c);
    if (!raise) return append_lower(c, out);
    return capital == Capital::upper ? append_upper(c, out) : append_title(c, out);
  });
}

Prompt changed(const Prompt& text, std::string (*change)(std::string_view)) {
  Prompt out;
  const std::string_view bytes = text.text;
  std::size_t at = 0;
  for (const Range& range : text.from_input) {
    out.append_literal(change(bytes.substr(at, range.begin - at)));
    out.append_input(change(bytes.substr(range.begin, range.end - range.begin)));
    at = range.end;
  }
  out.append_literal(change(bytes.substr(at)));
  return out;
}

Prompt marked_like(std::string text, const Prompt& origin) {
  Prompt out;
  if (origin.has_input()) {
    out.append_input(text);
  } else {
    out.text = std::move(text);
  }
  return out;
}

}  // namespace kvasir::text::jinja
