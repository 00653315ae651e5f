#include "text/normalizer.h"

#include <utf8proc.h>

#include <algorithm>

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

std::string nfc(std::string_view text) {
  if (needs_no_nfc(text)) return std::string(text);
  std::vector<utf8proc_int32_t> characters;
  characters.reserve(text.size());
  while (!text.empty()) {
    const base::Utf8Step step = base::utf8_step(text);
    CHECK(step.kind == base::Utf8Step::Kind::character, "text to normalize is not UTF-8");
    text.remove_prefix(step.size);
    utf8proc_int32_t parts[32];
    int boundary = 0;
    const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(step.value), parts, 32,
                                               UTF8PROC_DECOMPOSE, &boundary);
    CHECK(count > 0 && count <= 32);
    characters.insert(characters.end(), parts, parts + count);
  }
  order_marks(characters);
  const auto composed =
      utf8proc_normalize_utf32(characters.data(), static_cast<utf8proc_ssize_t>(characters.size()),
                               static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  CHECK(composed >= 0);
  std::string normal;
  for (utf8proc_ssize_t i = 0; i < composed; ++i)
    base::append_utf8(static_cast<char32_t>(characters[i]), normal);
  return normal;
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
    }
  }
  return normal;
}

}  // namespace kvasir::text
