#include <algorithm>
#include <array>
#include <utility>

#include "base/utf8.h"
#include "text/jinja/builtins.h"
#include "text/jinja/characters.h"
#include "text/jinja/operators.h"

namespace kvasir::text::jinja {

using base::Result;

namespace {

Result<Value> change_case(Context& context, const Value& subject, std::string (*change)(std::string_view)) {
  TRY(const Prompt text, printed(context, subject));
  return Value::text(changed(text, change));
}

Result<Value> to_upper(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  return change_case(context, subject, upper);
}

Result<Value> to_lower(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  return change_case(context, subject, lower);
}

Result<Value> capitalize(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  TRY(const Prompt text, printed(context, subject));
  return Value::text(marked_like(capitalized(text.text), text));
}

// Jinja's own notion of a word's beginning; the str method has another.
bool before_word(char32_t c) {
  return is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
}

Result<Value> title(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  TRY(const Prompt text, printed(context, subject));
  return Value::text(marked_like(titled(text.text, before_word), text));
}

Result<Value> trim(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"chars"}));
  TRY(const Prompt text, printed(context, subject));
  const Value* chars = arguments.find(0, "chars");
  if (chars != nullptr && !chars->is_text() && !chars->is_none()) return failure("trim() takes a string");
  const Range kept =
      stripped(text.text, chars != nullptr && chars->is_text() ? &chars->str() : nullptr, Side::both);
  return Value::text(text.slice(kept.begin, kept.end));
}

Result<Value> replace(Context& context, const Value& subject, const Arguments& arguments) {
  TRY(const Prompt text, printed(context, subject));
  return replaced(context, text, arguments);
}

// indent(width=4, first=False, blank=False)
Result<Value> indent(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"width", "first", "blank"}));
  TRY(Prompt text, printed(context, subject));
  Prompt margin;
  const Value* width = arguments.find(0, "width");
  if (width != nullptr && width->is_text()) {
    margin = width->prompt();
  } else {
    TRY(const std::int64_t columns, integer_argument(width, 4));
    TRY_OK(context.budget.bytes(static_cast<std::size_t>(std::max<std::int64_t>(columns, 0))));
    margin.text.assign(static_cast<std::size_t>(std::max<std::int64_t>(columns, 0)), ' ');
  }
  const Value* first = arguments.find(1, "first");
  const Value* blank = arguments.find(2, "blank");
  text.append_literal("\n");
  const auto lines = lines_of(text.text);
  TRY_OK(context.budget.steps(lines.size()));
  Prompt out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool empty = lines[i].begin == lines[i].end;
    if (i > 0) out.append_literal("\n");
    const bool indented =
        i == 0 ? first != nullptr && first->truthy() : !empty || (blank != nullptr && blank->truthy());
    if (indented) {
      TRY_OK(context.budget.bytes(margin.text.size()));
      out.append(margin);
    }
    out.append(text.slice(lines[i].begin, lines[i].end));
  }
  return Value::text(std::move(out));
}

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

Result<Value> escape(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  TRY(const Prompt text, printed(context, subject));
  TRY_OK(context.budget.bytes(text.text.size() * 5));
  return Value::text(changed(text, html_escaped));
}

std::string url_escaped(std::string_view text) {
  constexpr std::string_view kSafe = "_.-~/";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       kSafe.find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

Result<Value> url_encode(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  TRY(const Prompt text, printed(context, subject));
  TRY_OK(context.budget.bytes(text.text.size() * 3));
  return Value::text(changed(text, url_escaped));
}

Result<Value> format(Context& context, const Value& subject, const Arguments& arguments) {
  TRY(const Prompt text, printed(context, subject));
  if (arguments.named.empty()) return format_percent(context, text, Value::tuple(arguments.positional));
  Dict named;
  for (const auto& [name, value] : arguments.named) named.set(Value::literal(name), value);
  return format_percent(context, text, Value::dict(std::move(named)));
}

Result<Value> word_count(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  TRY(const Prompt text, printed(context, subject));
  std::string_view rest = text.text;
  std::size_t count = 0;
  bool inside = false;
  while (!rest.empty()) {
    const base::Utf8Step step = base::utf8_step(rest);
    const bool letter =
        is_letter(step.value) || (step.value >= '0' && step.value <= '9') || step.value == '_';
    if (letter && !inside) ++count;
    inside = letter;
    rest.remove_prefix(step.size);
  }
  return Value::number(count);
}

// truncate(length=255, killwords=False, end='...', leeway=5)
Result<Value> truncate(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"length", "killwords", "end", "leeway"}));
  TRY(const Prompt text, printed(context, subject));
  TRY(const std::int64_t length, integer_argument(arguments.find(0, "length"), 255));
  TRY(const std::string end, text_argument(arguments.find(2, "end"), "..."));
  TRY(const std::int64_t leeway, integer_argument(arguments.find(3, "leeway"), 5));
  const auto end_length = static_cast<std::int64_t>(count_characters(end));
  if (length < end_length || leeway < 0 || length > INT32_MAX || leeway > INT32_MAX) {
    return failure("truncate() got a length below that of its end, or too large");
  }
  if (static_cast<std::int64_t>(count_characters(text.text)) <= length + leeway) return Value::text(text);
  Prompt cut = text.slice(0, character_offset(text.text, static_cast<std::size_t>(length - end_length)));
  const Value* killwords = arguments.find(1, "killwords");
  if (killwords == nullptr || !killwords->truthy()) {
    const std::size_t space = cut.text.rfind(' ');
    if (space != std::string::npos) cut = cut.slice(0, space);
  }
  cut.append_literal(end);
  return Value::text(std::move(cut));
}

constexpr std::array<NamedOperation, 14> kFilters = {{
    {"upper", to_upper},
    {"lower", to_lower},
    {"capitalize", capitalize},
    {"title", title},
    {"trim", trim},
    {"replace", replace},
    {"indent", indent},
    {"escape", escape},
    {"e", escape},
    {"forceescape", escape},
    {"urlencode", url_encode},
    {"format", format},
    {"wordcount", word_count},
    {"truncate", truncate},
}};

}  // namespace

std::span<const NamedOperation> text_filters() {
  return kFilters;
}

}  // namespace kvasir::text::jinja
