#include "text/tokenizer/normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"
#include "text/tokenizer/character_class.h"
#include "text/tokenizer/normal_form.h"

namespace kvasir::text {
namespace {

// Calls f(character) for each character in order. `text` is UTF-8.
template <class F>
void for_characters(std::string_view text, const F& f) {
  while (!text.empty()) {
    const base::Utf8Step step = base::utf8_step(text);
    CHECK(step.kind == base::Utf8Step::Kind::character, "text to normalize is not UTF-8");
    text.remove_prefix(step.size);
    f(step.value);
  }
}

utf8proc_category_t category_of(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool is_control(char32_t c) {
  const utf8proc_category_t category = category_of(c);
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
         category == UTF8PROC_CATEGORY_CO;
}

std::string clean(std::string_view text) {
  std::string cleaned;
  for_characters(text, [&](char32_t c) {
    if (c == '\t' || c == '\n' || c == '\r') {
      cleaned += ' ';
    } else if (c != 0 && c != 0xFFFD && !is_control(c)) {
      base::append_utf8(is_white_space(c) ? U' ' : c, cleaned);
    }
  });
  return cleaned;
}

bool is_ideograph(char32_t c) {
  constexpr std::pair<char32_t, char32_t> kBlocks[] = {
      {0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F},
      {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F},
  };
  return std::any_of(std::begin(kBlocks), std::end(kBlocks),
                     [c](const auto& block) { return c >= block.first && c <= block.second; });
}

std::string space_ideographs(std::string_view text) {
  std::string spaced;
  for_characters(text, [&](char32_t c) {
    const bool ideograph = is_ideograph(c);
    if (ideograph) spaced += ' ';
    base::append_utf8(c, spaced);
    if (ideograph) spaced += ' ';
  });
  return spaced;
}

std::string strip_marks(std::string_view text) {
  std::string stripped;
  for_characters(text, [&](char32_t c) {
    if (category_of(c) != UTF8PROC_CATEGORY_MN) base::append_utf8(c, stripped);
  });
  return stripped;
}

std::string strip_all_marks(std::string_view text) {
  std::string stripped;
  for_characters(text, [&](char32_t c) {
    const utf8proc_category_t category = category_of(c);
    if (category < UTF8PROC_CATEGORY_MN || category > UTF8PROC_CATEGORY_ME) base::append_utf8(c, stripped);
  });
  return stripped;
}

std::string lowercase(std::string_view text) {
  std::string lower;
  for_characters(text, [&](char32_t c) {
    // U+0130 is the only character whose lower case is two characters.
    if (c == 0x130) {
      lower += "i\u0307";
    } else {
      base::append_utf8(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))), lower);
    }
  });
  return lower;
}

std::string nmt(std::string_view text) {
  const auto goes = [](char32_t c) {
    return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F ||
           c == 0x9F;
  };
  const auto is_space = [](char32_t c) {
    return c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
           c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
  };
  std::string cleaned;
  for_characters(text, [&](char32_t c) {
    if (!goes(c)) base::append_utf8(is_space(c) ? U' ' : c, cleaned);
  });
  return cleaned;
}

std::string strip_left(std::string_view text) {
  while (!text.empty()) {
    const base::Utf8Step step = base::utf8_step(text);
    if (!is_white_space(step.value)) break;
    text.remove_prefix(step.size);
  }
  return std::string(text);
}

std::string strip_right(std::string_view text) {
  while (!text.empty()) {
    std::size_t begin = text.size() - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
    if (!is_white_space(base::utf8_step(text.substr(begin)).value)) break;
    text = text.substr(0, begin);
  }
  return std::string(text);
}

std::string replace_matches(std::string_view text, const Pattern& pattern, std::string_view to) {
  std::string replaced;
  std::size_t at = 0;
  pattern.for_each_match(text, [&](Range match) {
    replaced += text.substr(at, match.begin - at);
    replaced += to;
    at = match.end;
  });
  replaced += text.substr(at);
  return replaced;
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string replaced;
  replaced.reserve(text.size() + text.size() / 4);
  std::size_t at = 0;
  while (true) {
    const std::size_t found = from.empty() ? std::string_view::npos : text.find(from, at);
    replaced += text.substr(at, found - at);
    if (found == std::string_view::npos) return replaced;
    replaced += to;
    at = found + from.size();
  }
}

std::string run_step(const NormalizerStep& step, std::string_view text) {
  using Kind = NormalizerStep::Kind;
  switch (step.kind) {
    case Kind::nfc:
      return normal_form(text, NormalForm::nfc);
    case Kind::nfd:
      return normal_form(text, NormalForm::nfd);
    case Kind::nfkc:
      return normal_form(text, NormalForm::nfkc);
    case Kind::nfkd:
      return normal_form(text, NormalForm::nfkd);
    case Kind::replace:
      return replace_all(text, step.from, step.to);
    case Kind::replace_matches:
      return replace_matches(text, *step.pattern, step.to);
    case Kind::prepend:
      return text.empty() ? std::string() : step.to + std::string(text);
    case Kind::strip_left:
      return strip_left(text);
    case Kind::strip_right:
      return strip_right(text);
    case Kind::clean:
      return clean(text);
    case Kind::space_ideographs:
      return space_ideographs(text);
    case Kind::strip_marks:
      return strip_marks(text);
    case Kind::strip_all_marks:
      return strip_all_marks(text);
    case Kind::lowercase:
      return lowercase(text);
    case Kind::nmt:
      return nmt(text);
    case Kind::chars_map:
      return step.map->normalize(text);
  }
  return std::string(text);
}

}  // namespace

std::string normalize(std::string_view text, const std::vector<NormalizerStep>& steps) {
  if (steps.empty()) return std::string(text);
  std::string normal = run_step(steps.front(), text);
  for (std::size_t i = 1; i < steps.size(); ++i) normal = run_step(steps[i], normal);
  return normal;
}

}  // namespace kvasir::text
