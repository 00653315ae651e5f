#include <utf8proc.h>

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

bool is_numeric(char32_t c) {
  const auto kind = category(c);
  return kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL || kind == UTF8PROC_CATEGORY_NO;
}

bool is_alphanumeric(char32_t c) {
  return is_letter(c) || is_numeric(c);
}

// True of a string with at least one character, of which each passes.
template <bool (*kPredicate)(char32_t)>
Result<Value> all_characters(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
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

Result<Value> is_lower(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  TRY_OK(context.budget.steps(subject.weight()));
  return Value(lower(subject.str()) == subject.str() && upper(subject.str()) != subject.str());
}

Result<Value> is_upper(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  TRY_OK(context.budget.steps(subject.weight()));
  return Value(upper(subject.str()) == subject.str() && lower(subject.str()) != subject.str());
}

constexpr std::array<NamedOperation, 8> kPredicates = {{
    {"isdigit", all_characters<is_decimal>},
    {"isdecimal", all_characters<is_decimal>},
    {"isnumeric", all_characters<is_numeric>},
    {"isalpha", all_characters<is_letter>},
    {"isalnum", all_characters<is_alphanumeric>},
    {"isspace", all_characters<is_space>},
    {"islower", is_lower},
    {"isupper", is_upper},
}};

}  // namespace

std::span<const NamedOperation> text_predicates() {
  return kPredicates;
}

}  // namespace kvasir::text::jinja
