#include <algorithm>
#include <array>
#include <utility>

#include "text/jinja/builtins.h"
#include "text/jinja/characters.h"
#include "text/jinja/operators.h"

namespace kvasir::text::jinja {

using base::Result;

namespace {

template <Side kSide>
Result<Value> strip(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.by_position(0, 1));
  TRY_OK(context.budget.steps(subject.weight()));
  TRY_OK(context.budget.bytes(subject.str().size()));
  const Value* chars = arguments.find(0, "chars");
  const bool given = chars != nullptr && !chars->is_none();
  if (given && !chars->is_text()) return failure("strip arg must be None or str");
  const Range kept = stripped(subject.str(), given ? &chars->str() : nullptr, kSide);
  return Value::text(subject.prompt().slice(kept.begin, kept.end));
}

template <Side kSide>
Result<Value> remove_affix(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.by_position(1, 1));
  TRY(const std::string affix, text_argument(arguments.find(0, "affix"), ""));
  TRY_OK(context.budget.bytes(subject.str().size()));
  const Prompt& text = subject.prompt();
  const std::size_t size = text.text.size();
  if (kSide == Side::left && text.text.starts_with(affix)) return Value::text(text.slice(affix.size(), size));
  if (kSide == Side::right && text.text.ends_with(affix))
    return Value::text(text.slice(0, size - affix.size()));
  return subject;
}

Result<Value> replace(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.by_position(2, 3));
  const Value& to = arguments.positional[1];
  if (!to.is_text()) return failure("replace() needs two strings");
  Replacement what{.to = to.prompt()};
  TRY(what.from, text_argument(&arguments.positional[0], ""));
  if (arguments.positional.size() > 2) {
    if (!arguments.positional[2].is_integer()) return failure("replace() takes a whole number of times");
    what.limit = arguments.positional[2].integer();
  }
  return replaced(context, subject.prompt(), what);
}

Result<Value> join(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.by_position(1, 1));
  TRY(const auto items, iterate(context, arguments.positional[0]));
  for (const Value& item : items) {
    if (!item.is_text()) return failure("sequence item: expected str instance, {} found", item.type_name());
  }
  return joined(context, items, subject.prompt());
}

template <Side kSide>
Result<Value> justify(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.by_position(1, 2));
  Justification rule{.width = arguments.positional[0]};
  if (arguments.positional.size() > 1) {
    if (!arguments.positional[1].is_text()) return failure("the fill character must be a string");
    rule.fill = arguments.positional[1].prompt();
  }
  return justified(context, subject.prompt(), rule, kSide);
}

Result<Value> zero_fill(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.by_position(1, 1));
  const Prompt& text = subject.prompt();
  const std::size_t sign = !text.text.empty() && (text.text[0] == '-' || text.text[0] == '+') ? 1 : 0;
  if (!arguments.positional[0].is_integer()) return failure("zfill() takes a number");
  const std::int64_t width = arguments.positional[0].integer();
  const auto length = static_cast<std::int64_t>(count_characters(text.text));
  if (width <= length) return subject;
  if (width > INT32_MAX) return failure("a width is too large");
  TRY_OK(context.budget.bytes(text.text.size() + static_cast<std::size_t>(width)));
  Prompt out = text.slice(0, sign);
  out.append_literal(std::string(static_cast<std::size_t>(width - length), '0'));
  out.append(text.slice(sign, text.text.size()));
  return Value::text(std::move(out));
}

Result<Value> expand_tabs(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"tabsize"}));
  TRY(const std::int64_t size, integer_argument(arguments.find(0, "tabsize"), 8));
  if (size > 1000) return failure("a tab is too wide");
  TRY_OK(context.budget.steps(subject.weight()));
  const auto tabs = static_cast<std::size_t>(std::count(subject.str().begin(), subject.str().end(), '\t'));
  TRY_OK(context.budget.bytes(subject.str().size() +
                              tabs * static_cast<std::size_t>(std::max<std::int64_t>(size, 0))));
  Prompt out;
  std::size_t at = 0;
  std::int64_t column = 0;
  const std::string& text = subject.str();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n' || text[i] == '\r') {
      column = 0;
    } else if (text[i] == '\t') {
      out.append(subject.prompt().slice(at, i));
      const std::int64_t spaces = size > 0 ? size - column % size : 0;
      out.append_literal(std::string(static_cast<std::size_t>(spaces), ' '));
      column += spaces;
      at = i + 1;
    } else if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
      ++column;
    }
  }
  out.append(subject.prompt().slice(at, text.size()));
  return Value::text(std::move(out));
}

template <std::string (*kChange)(std::string_view)>
Result<Value> change_case(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.by_position(0, 0));
  TRY_OK(context.budget.bytes(subject.str().size()));
  return Value::text(changed(subject.prompt(), kChange));
}

Result<Value> capitalize(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.by_position(0, 0));
  TRY_OK(context.budget.bytes(subject.str().size()));
  return Value::text(marked_like(capitalized(subject.str()), subject.prompt()));
}

bool is_uncased(char32_t c) {
  return !is_cased(c);
}

Result<Value> title(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.by_position(0, 0));
  TRY_OK(context.budget.bytes(subject.str().size()));
  return Value::text(marked_like(titled(subject.str(), is_uncased, Capital::title), subject.prompt()));
}

Result<Value> format(Context& context, const Value& subject, const Arguments& arguments) {
  return format_braces(context, subject.prompt(), arguments);
}

Result<Value> format_map(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.by_position(1, 1));
  if (!arguments.positional[0].is_dict()) return failure("format_map() needs a mapping");
  Arguments named;
  for (const auto& [key, value] : arguments.positional[0].mapping().entries()) {
    TRY_OK(context.budget.steps(1));
    if (key.is_text()) named.named.emplace_back(key.str(), value);
  }
  return format_braces(context, subject.prompt(), named);
}

constexpr std::array<NamedOperation, 20> kTextMethods = {{
    {"strip", strip<Side::both>},
    {"lstrip", strip<Side::left>},
    {"rstrip", strip<Side::right>},
    {"removeprefix", remove_affix<Side::left>},
    {"removesuffix", remove_affix<Side::right>},
    {"replace", replace},
    {"join", join},
    {"ljust", justify<Side::left>},
    {"rjust", justify<Side::right>},
    {"center", justify<Side::both>},
    {"zfill", zero_fill},
    {"expandtabs", expand_tabs},
    {"upper", change_case<upper>},
    {"lower", change_case<lower>},
    {"casefold", change_case<folded>},
    {"swapcase", change_case<swapped_case>},
    {"capitalize", capitalize},
    {"title", title},
    {"format", format},
    {"format_map", format_map},
}};

}  // namespace

Result<Value> justified(Context& context, const Prompt& text, const Justification& rule, Side side) {
  if (!rule.width.is_integer()) return failure("a width must be a whole number");
  const std::int64_t width = rule.width.integer();
  if (count_characters(rule.fill.text) != 1)
    return failure("the fill character must be exactly one character long");
  const auto length = static_cast<std::int64_t>(count_characters(text.text));
  if (width <= length) return Value::text(text);
  if (width > INT32_MAX) return failure("a width is too large");
  const auto missing = static_cast<std::size_t>(width - length);
  TRY_OK(context.budget.bytes(text.text.size() + missing * rule.fill.text.size()));
  TRY_OK(context.budget.steps(missing / 16));
  // If the padding and the width are both odd, str.center puts the extra character on the left.
  const std::size_t before = side == Side::left ? 0
                             : side == Side::right
                                 ? missing
                                 : missing / 2 + (missing & static_cast<std::size_t>(width) & 1);
  Prompt out;
  for (std::size_t i = 0; i < before; ++i) out.append(rule.fill);
  out.append(text);
  for (std::size_t i = before; i < missing; ++i) out.append(rule.fill);
  return Value::text(std::move(out));
}

std::span<const NamedOperation> text_methods() {
  return kTextMethods;
}

}  // namespace kvasir::text::jinja
