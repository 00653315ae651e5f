#include <algorithm>
#include <array>
#include <utility>

#include "text/jinja/builtins.h"
#include "text/jinja/characters.h"
#include "text/jinja/operators.h"

namespace kvasir::text::jinja {

using base::Result;

namespace {

// Returns markup if the subject is markup, as some filters do.
Value like(const Value& subject, Prompt text) {
  return subject.is_markup() ? Value::markup(std::move(text)) : Value::text(std::move(text));
}

Result<Value> change_case(Context& context, const Value& subject, std::string (*change)(std::string_view)) {
  TRY(const Prompt text, printed(context, subject));
  return like(subject, changed(text, change));
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
  return like(subject, marked_like(capitalized(text.text), text));
}

// Jinja's rule for the beginning of a word, which differs from that of str.title().
bool before_word(char32_t c) {
  return is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
}

Result<Value> title(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  TRY(const Prompt text, printed(context, subject));
  return Value::text(marked_like(titled(text.text, before_word, Capital::upper), text));
}

Result<Value> trim(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"chars"}));
  TRY(const Prompt text, printed(context, subject));
  const Value* chars = arguments.find(0, "chars");
  if (chars != nullptr && !chars->is_text() && !chars->is_none()) return failure("trim() takes a string");
  const Range kept =
      stripped(text.text, chars != nullptr && chars->is_text() ? &chars->str() : nullptr, Side::both);
  return like(subject, text.slice(kept.begin, kept.end));
}

Result<Value> replace(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"old", "new", "count"}));
  const Value* from = arguments.find(0, "old");
  const Value* to = arguments.find(1, "new");
  if (from == nullptr || to == nullptr) return failure("replace() needs what to replace and by what");
  TRY(const Prompt text, printed(context, subject));
  TRY(Prompt old_text, printed(context, *from));
  Replacement what{.from = std::move(old_text.text)};
  TRY(what.to, printed(context, *to));
  TRY(what.limit, integer_argument(arguments.find(2, "count"), -1));
  return replaced(context, text, what);
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

Result<Value> force_escape(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  TRY(const Prompt text, printed(context, subject));
  TRY_OK(context.budget.bytes(text.text.size() * 5));
  return Value::markup(changed(text, html_escaped));
}

Result<Value> escape(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  return subject.is_markup() ? subject : force_escape(context, subject, arguments);
}

template <bool (*kIsSafe)(char)>
std::string url_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || kIsSafe(c);
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

bool is_safe_in_path(char c) {
  return c == '_' || c == '.' || c == '-' || c == '~' || c == '/';
}

bool is_safe_in_query(char c) {
  return c == '_' || c == '.' || c == '-' || c == '~';
}

std::string query_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == ' ' ? "+" : url_escaped<is_safe_in_query>({&c, 1});
  return out;
}

// Encodes a text, or encodes pairs as a query.
Result<Value> url_encode(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  if (!subject.is_dict() && !subject.is_sequence()) {
    TRY(const Prompt text, printed(context, subject));
    TRY_OK(context.budget.bytes(text.text.size() * 3));
    return Value::text(changed(text, url_escaped<is_safe_in_path>));
  }
  std::vector<Value> pairs;
  if (subject.is_dict()) {
    TRY_OK(context.budget.steps(subject.mapping().entries().size()));
    for (const auto& [key, value] : subject.mapping().entries()) pairs.push_back(Value::tuple({key, value}));
  } else {
    TRY(pairs, iterate(context, subject));
  }
  Prompt out;
  for (const Value& pair : pairs) {
    TRY(const auto parts, iterate(context, pair));
    if (parts.size() != 2) return failure("urlencode() needs pairs of a name and a value");
    if (!out.text.empty()) out.append_literal("&");
    for (std::size_t i = 0; i < 2; ++i) {
      TRY(const Prompt text, printed(context, parts[i]));
      TRY_OK(context.budget.bytes(text.text.size() * 3));
      if (i == 1) out.append_literal("=");
      out.append(changed(text, query_escaped));
    }
  }
  return Value::text(std::move(out));
}

Result<Value> format(Context& context, const Value& subject, const Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty())
    return failure("can't handle positional and keyword arguments at the same time");
  TRY(const Prompt text, printed(context, subject));
  if (arguments.named.empty()) return format_percent(context, text, Value::tuple(arguments.positional));
  Dict named;
  for (const auto& [name, value] : arguments.named) named.set(Value::literal(name), value);
  return format_percent(context, text, Value::dict(std::move(named)));
}

// xmlattr(autospace=True)
Result<Value> xml_attributes(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"autospace"}));
  if (!subject.is_dict()) return failure("xmlattr() needs a mapping, not '{}'", subject.type_name());
  const Value* autospace = arguments.find(0, "autospace");
  Prompt out;
  for (const auto& [key, value] : subject.mapping().entries()) {
    if (value.is_none() || value.is_undefined()) continue;
    if (!key.is_text()) return failure("expected string or bytes-like object, got '{}'", key.type_name());
    if (key.str().find_first_of(" \t\n\r\f\v/>=") != std::string::npos)
      return failure("invalid character in attribute name: {}", key.str());
    TRY(const Prompt text, printed(context, value));
    TRY_OK(context.budget.bytes((key.str().size() + text.text.size()) * 5));
    if (!out.text.empty() || autospace == nullptr || autospace->truthy()) out.append_literal(" ");
    out.append(changed(key.prompt(), html_escaped));
    out.append_literal("=\"");
    out.append(changed(text, html_escaped));
    out.append_literal("\"");
  }
  return Value::text(std::move(out));
}

Result<Value> safe(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  TRY(Prompt text, printed(context, subject));
  return Value::markup(std::move(text));
}

// Removes tags and comments and joins runs of spaces. Entities are not resolved.
Result<Value> strip_tags(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  TRY(const Prompt text, printed(context, subject));
  TRY_OK(context.budget.steps(text.text.size() / 16));
  Prompt bare;
  for (std::size_t at = 0; at < text.text.size();) {
    const bool comment = text.text.compare(at, 4, "<!--") == 0;
    const std::string_view closing = comment ? "-->" : ">";
    const std::size_t close = text.text[at] == '<' ? text.text.find(closing, at) : std::string::npos;
    if (close != std::string::npos) {
      at = close + closing.size();
      continue;
    }
    const std::size_t end = std::min(text.text.find('<', at + 1), text.text.size());
    bare.append(text.slice(at, end));
    // A tag or comment that is never closed is text, and so is everything after it.
    if (text.text[at] == '<') {
      bare.append(text.slice(end, text.text.size()));
      break;
    }
    at = end;
  }
  Prompt out;
  for (const Range& word : words_of(bare.text, -1)) {
    if (!out.text.empty()) out.append_literal(" ");
    out.append(bare.slice(word.begin, word.end));
  }
  return Value::text(std::move(out));
}

constexpr std::array<NamedOperation, 14> kTextFilters = {{
    {"upper", to_upper},
    {"lower", to_lower},
    {"capitalize", capitalize},
    {"title", title},
    {"trim", trim},
    {"replace", replace},
    {"escape", escape},
    {"e", escape},
    {"forceescape", force_escape},
    {"safe", safe},
    {"urlencode", url_encode},
    {"format", format},
    {"xmlattr", xml_attributes},
    {"striptags", strip_tags},
}};

}  // namespace

std::span<const NamedOperation> text_filters() {
  return kTextFilters;
}

}  // namespace kvasir::text::jinja
