#include "text/tokenizer/normal_form.h"

#include <utf8proc.h>

#include <algorithm>
#include <bitset>
#include <vector>

#include "base/check.h"
#include "base/utf8.h"
#include "text/tokenizer/character_class.h"

namespace kvasir::text {
namespace {

using Characters = std::vector<utf8proc_int32_t>;

// Orders combining marks. utf8proc does this by insertion sort, which is quadratic in a run of marks; this
// function is not quadratic.
void order_marks(Characters& characters) {
  const auto combining = [](utf8proc_int32_t c) { return utf8proc_get_property(c)->combining_class; };
  for (auto run = characters.begin(); run != characters.end();) {
    const auto end = std::find_if(run, characters.end(), [&](auto c) { return combining(c) == 0; });
    if (end - run > 1) {
      std::stable_sort(run, end, [&](auto a, auto b) { return combining(a) < combining(b); });
    }
    run = end == characters.end() ? end : end + 1;
  }
}

void decompose(char32_t character, int options, Characters& out) {
  utf8proc_int32_t parts[32];
  int boundary = 0;
  const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(character), parts, 32,
                                             static_cast<utf8proc_option_t>(options), &boundary);
  CHECK(count > 0 && count <= 32);
  out.insert(out.end(), parts, parts + count);
}

void compose(Characters& characters) {
  const auto composed =
      utf8proc_normalize_utf32(characters.data(), static_cast<utf8proc_ssize_t>(characters.size()),
                               static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  CHECK(composed >= 0);
  characters.resize(static_cast<std::size_t>(composed));
}

// Appends the normal form of `text`. `characters` is only a buffer.
void append_normal(std::string_view text, NormalForm form, Characters& characters, std::string& out) {
  const bool compatible = form == NormalForm::nfkc || form == NormalForm::nfkd;
  const int options = UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0);
  characters.clear();
  for (std::size_t at = 0; at < text.size();) {
    const base::Utf8Step step = base::utf8_step(text.substr(at));
    CHECK(step.kind == base::Utf8Step::Kind::character, "text to normalize is not UTF-8");
    decompose(step.value, options, characters);
    at += step.size;
  }
  order_marks(characters);
  if (form == NormalForm::nfc || form == NormalForm::nfkc) compose(characters);
  for (const utf8proc_int32_t c : characters) base::append_utf8(static_cast<char32_t>(c), out);
}

// Whether form C keeps the character as it is and never joins it to the character before.
bool stands_alone(char32_t character) {
  const auto* property = utf8proc_get_property(static_cast<utf8proc_int32_t>(character));
  if (property->combining_class != 0) return false;
  if (property->comb_index != UINT16_MAX && property->comb_index >= 0x8000) return false;
  if (character >= 0x1161 && character <= 0x11C2) return false;  // vowels and finals of Hangul
  if (property->decomp_seqindex == UINT16_MAX || property->decomp_type != 0) return true;
  Characters parts;
  decompose(character, UTF8PROC_DECOMPOSE, parts);
  compose(parts);
  return parts.size() == 1 && parts[0] == static_cast<utf8proc_int32_t>(character);
}

// The table covers the scripts whose letters decompose and compose again.
constexpr char32_t kTableEnd = 0x2000;

bool begins_segment(char32_t character) {
  static const auto kTable = [] {
    std::bitset<kTableEnd> table;
    for (char32_t c = 0; c < kTableEnd; ++c) table[c] = stands_alone(c);
    return table;
  }();
  return character < kTableEnd ? kTable[character] : stands_alone(character);
}

// Normalizes to form C. Only a character that does not stand alone needs the full algorithm, together with
// the character before it.
std::string form_c(std::string_view text) {
  std::string normal;
  Characters buffer;
  std::size_t done = 0;
  std::size_t previous = 0;  // where the character before `at` begins
  for (std::size_t at = 0; at < text.size();) {
    std::uint8_t size = 1;
    const auto first = static_cast<unsigned char>(text[at]);
    // Every character below U+0300, whose first byte is 0xCC, stands alone.
    if (first < 0xCC) {
      previous = at;
      at += first < 0x80 ? 1 : 2;
      continue;
    }
    char32_t character = decode_beyond_ascii(text.data() + at, size);
    if (begins_segment(character)) {
      previous = at;
      at += size;
      continue;
    }
    normal += text.substr(done, previous - done);
    std::size_t end = at + size;
    while (end < text.size() && static_cast<unsigned char>(text[end]) >= 0xCC) {
      character = decode_beyond_ascii(text.data() + end, size);
      if (begins_segment(character)) break;
      end += size;
    }
    append_normal(text.substr(previous, end - previous), NormalForm::nfc, buffer, normal);
    done = previous = at = end;
  }
  normal += text.substr(done);
  return normal;
}

}  // namespace

std::string normal_form(std::string_view text, NormalForm form) {
  if (form == NormalForm::nfc) return form_c(text);
  const bool ascii =
      std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (ascii) return std::string(text);
  std::string normal;
  Characters buffer;
  append_normal(text, form, buffer, normal);
  return normal;
}

}  // namespace kvasir::text
