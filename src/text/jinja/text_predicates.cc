#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "text/jinja/builtins.h"
#include "text/jinja/characters.h"

namespace kvasir::text::jinja {

using base::Result;

namespace {

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool is_decimal(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_ND;
}

bool is_alphanumeric(char32_t c) {
  return is_letter(c) || is_numeric(c);
}

// True if the string has at least one character and all its characters pass.
template <bool (*kPredicate)(char32_t)>
Result<Value> all_characters(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.by_position(0, 0));
  TRY_OK(context.budget.steps(subject.weight()));
  std::string_view rest = subject.str();
  if (rest.empty()) return Value(false);
  while (!rest.empty()) {
    const base::Utf8Step step = base::utf8_step(rest);
    if (step.kind != base::Utf8Step::Kind::character || !kPredicate(step.value)) return Value(false);
    rest.remove_prefix(step.size);
  }
  return Value(true);
}

template <bool (*kPredicate)(std::string_view)>
Result<Value> whole_text(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.by_position(0, 0));
  TRY_OK(context.budget.steps(subject.weight()));
  return Value(kPredicate(subject.str()));
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool is_printable_text(std::string_view text) {
  while (!text.empty()) {
    const base::Utf8Step step = base::utf8_step(text);
    if (!is_printable(step.value)) return false;
    text.remove_prefix(step.size);
  }
  return true;
}

// True if words begin with an upper case letter, and no other letter is in upper case.
bool is_title(std::string_view text) {
  bool found = false;
  bool inside = false;
  while (!text.empty()) {
    const base::Utf8Step step = base::utf8_step(text);
    const auto kind = category(step.value);
    const bool capital = kind == UTF8PROC_CATEGORY_LU || kind == UTF8PROC_CATEGORY_LT;
    const bool small = kind == UTF8PROC_CATEGORY_LL;
    if ((capital && inside) || (small && !inside)) return false;
    found = found || capital;
    inside = capital || small;
    text.remove_prefix(step.size);
  }
  return found;
}

bool is_identifier(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  while (!text.empty()) {
    const base::Utf8Step step = base::utf8_step(text);
    const auto kind = category(step.value);
    const bool part = is_letter(step.value) || step.value == '_' || kind == UTF8PROC_CATEGORY_ND ||
                      kind == UTF8PROC_CATEGORY_NL || kind == UTF8PROC_CATEGORY_MN ||
                      kind == UTF8PROC_CATEGORY_MC || kind == UTF8PROC_CATEGORY_PC;
    if (!part) return false;
    text.remove_prefix(step.size);
  }
  return true;
}

constexpr std::array<NamedOperation, 12> kPredicates = {{
    {"isascii", whole_text<is_ascii>},
    {"isidentifier", whole_text<is_identifier>},
    {"isprintable", whole_text<is_printable_text>},
    {"istitle", whole_text<is_title>},
    {"isdigit", all_characters<is_decimal>},
    {"isdecimal", all_characters<is_decimal>},
    {"isnumeric", all_characters<is_numeric>},
    {"isalpha", all_characters<is_letter>},
    {"isalnum", all_characters<is_alphanumeric>},
    {"isspace", all_characters<is_space>},
    {"islower", whole_text<is_lower_text>},
    {"isupper", whole_text<is_upper_text>},
}};

}  // namespace

std::span<const NamedOperation> text_predicates() {
  return kPredicates;
}

}  // namespace kvasir::text::jinja
