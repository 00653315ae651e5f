#include "text/normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"

namespace kvasir::text {
namespace {

// Every character below U+0300 is its own normal form C and combines with none below it.
bool needs_no_nfc(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0xCC; });
}

// utf8proc's own ordering is an insertion sort, quadratic in a run of combining marks: sorted here instead.
void order_marks(std::vector<utf8proc_int32_t>& characters) {
  const auto combining = [](utf8proc_int32_t c) { return utf8proc_get_property(c)->combining_class; };
  for (auto run = characters.begin(); run != characters.end();) {
    const auto end = std::find_if(run, characters.end(), [&](auto c) { return combining(c) == 0; });
    if (end - run > 1) {
      std::stable_sort(run, end, [&](auto a, auto b) { return combining(a) < combining(b); });
    }
    run = end == characters.end() ? end : end + 1;
  }
}

// Calls f(character) in order. `text` is UTF-8.
template <class F>
void for_characters(std::string_view text, const F& f) {
  while (!text.empty()) {
    const base::Utf8Step step = base::utf8_step(text);
    CHECK(step.kind == base::Utf8Step::Kind::character, "text to normalize is not UTF-8");
    text.remove_prefix(step.size);
    f(static_cast<utf8proc_int32_t>(step.value));
  }
}

std::vector<utf8proc_int32_t> decompose(std::string_view text) {
  std::vector<utf8proc_int32_t> characters;
  characters.reserve(text.size());
  for_characters(text, [&](utf8proc_int32_t c) {
    utf8proc_int32_t parts[32];
    int boundary = 0;
    const auto count = utf8proc_decompose_char(c, parts, 32, UTF8PROC_DECOMPOSE, &boundary);
    CHECK(count > 0 && count <= 32);
    characters.insert(characters.end(), parts, parts + count);
  });
  order_marks(characters);
  return characters;
}

std::string nfc(std::string_view text) {
  if (needs_no_nfc(text)) return std::string(text);
  std::vector<utf8proc_int32_t> characters = decompose(text);
  const auto composed =
      utf8proc_normalize_utf32(characters.data(), static_cast<utf8proc_ssize_t>(characters.size()),
                               static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  CHECK(composed >= 0);
  std::string normal;
  for (utf8proc_ssize_t i = 0; i < composed; ++i)
    base::append_utf8(static_cast<char32_t>(characters[i]), normal);
  return normal;
}

bool is_space(utf8proc_int32_t c) {
  const utf8proc_category_t category = utf8proc_category(c);
  return (c >= '\t' && c <= '\r') || c == 0x85 || category == UTF8PROC_CATEGORY_ZS ||
         category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
}

bool is_control(utf8proc_int32_t c) {
  const utf8proc_category_t category = utf8proc_category(c);
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
         category == UTF8PROC_CATEGORY_CO;
}

std::string clean(std::string_view text) {
  std::string cleaned;
  for_characters(text, [&](utf8proc_int32_t c) {
    if (c == '\t' || c == '\n' || c == '\r') {
      cleaned += ' ';
    } else if (c != 0 && c != 0xFFFD && !is_control(c)) {
      base::append_utf8(static_cast<char32_t>(is_space(c) ? ' ' : c), cleaned);
    }
  });
  return cleaned;
}

bool is_ideograph(utf8proc_int32_t c) {
  constexpr std::pair<utf8proc_int32_t, utf8proc_int32_t> kBlocks[] = {
      {0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F},
      {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F},
  };
  return std::any_of(std::begin(kBlocks), std::end(kBlocks),
                     [c](const auto& block) { return c >= block.first && c <= block.second; });
}

std::string space_ideographs(std::string_view text) {
  std::string spaced;
  for_characters(text, [&](utf8proc_int32_t c) {
    const bool ideograph = is_ideograph(c);
    if (ideograph) spaced += ' ';
    base::append_utf8(static_cast<char32_t>(c), spaced);
    if (ideograph) spaced += ' ';
  });
  return spaced;
}

std::string strip_accents(std::string_view text) {
  std::string stripped;
  for (const utf8proc_int32_t c : decompose(text)) {
    if (utf8proc_category(c) != UTF8PROC_CATEGORY_MN) base::append_utf8(static_cast<char32_t>(c), stripped);
  }
  return stripped;
}

std::string lowercase(std::string_view text) {
  std::string lower;
  for_characters(text, [&](utf8proc_int32_t c) {
    base::append_utf8(static_cast<char32_t>(utf8proc_tolower(c)), lower);
  });
  return lower;
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string replaced;
  std::size_t at = 0;
  while (true) {
    const std::size_t found = from.empty() ? std::string_view::npos : text.find(from, at);
    replaced += text.substr(at, found - at);
    if (found == std::string_view::npos) return replaced;
    replaced += to;
    at = found + from.size();
  }
}

}  // namespace

std::string normalize(std::string_view text, const std::vector<NormalizerStep>& steps) {
  std::string normal(text);
  for (const NormalizerStep& step : steps) {
    switch (step.kind) {
      case NormalizerStep::Kind::nfc:
        normal = nfc(normal);
        break;
      case NormalizerStep::Kind::replace:
        normal = replace_all(normal, step.from, step.to);
        break;
      case NormalizerStep::Kind::prepend:
        if (!normal.empty()) normal = step.to + normal;
        break;
      case NormalizerStep::Kind::prefix_space:
        if (!normal.starts_with(' ')) normal = " " + normal;
        break;
      case NormalizerStep::Kind::clean:
        normal = clean(normal);
        break;
      case NormalizerStep::Kind::space_ideographs:
        normal = space_ideographs(normal);
        break;
      case NormalizerStep::Kind::strip_accents:
        normal = strip_accents(normal);
        break;
      case NormalizerStep::Kind::lowercase:
        normal = lowercase(normal);
        break;
    }
  }
  return normal;
}

}  // namespace kvasir::text
