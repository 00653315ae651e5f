#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <utility>

#include "base/utf8.h"
#include "text/jinja/characters.h"
#include "text/jinja/value.h"

namespace kvasir::text::jinja {
namespace {

void append_repr(const Value& value, Prompt& out);
void append_items(const Value& value, Prompt& out);

// Writes Python's repr of a str: in double quotes if the text has single quotes and no double ones, otherwise
// in single quotes.
void append_quoted(const Prompt& text, Prompt& out) {
  const bool has_single = text.text.find('\'') != std::string::npos;
  const bool has_double = text.text.find('"') != std::string::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  std::string escaped;
  std::string_view rest = text.text;
  while (!rest.empty()) {
    const base::Utf8Step step = base::utf8_step(rest);
    const auto code = static_cast<unsigned>(step.value);
    const char c = rest[0];
    if (c == quote || c == '\\') {
      escaped += '\\';
      escaped += c;
    } else if (c == '\n') {
      escaped += "\\n";
    } else if (c == '\r') {
      escaped += "\\r";
    } else if (c == '\t') {
      escaped += "\\t";
    } else if (step.kind != base::Utf8Step::Kind::character || is_printable(step.value)) {
      escaped += rest.substr(0, step.size);
    } else {
      escaped += code < 0x100     ? fmt::format("\\x{:02x}", code)
                 : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                                  : fmt::format("\\U{:08x}", code);
    }
    rest.remove_prefix(step.size);
  }
  out.text += quote;
  if (text.has_input()) {
    out.append_input(escaped);
  } else {
    out.append_literal(escaped);
  }
  out.text += quote;
}

void append_sequence(const Value& value, Prompt& out) {
  using Kind = Sequence::Kind;
  const Sequence& sequence = value.sequence();
  if (sequence.kind == Kind::iterator) {
    out.text += "<generator object>";
    return;
  }
  if (sequence.kind == Kind::range) {
    const auto [start, stop, step] = sequence.bounds;
    out.text += step == 1 ? fmt::format("range({}, {})", start, stop)
                          : fmt::format("range({}, {}, {})", start, stop, step);
    return;
  }
  const bool view =
      sequence.kind == Kind::keys || sequence.kind == Kind::values || sequence.kind == Kind::pairs;
  if (view) out.text += fmt::format("{}(", value.type_name());
  append_items(value, out);
  if (view) out.text += ')';
}

void append_items(const Value& value, Prompt& out) {
  const bool tuple = value.is_tuple();
  out.text += tuple ? '(' : '[';
  for (std::size_t i = 0; i < value.items().size(); ++i) {
    if (i > 0) out.text += ", ";
    append_repr(value.items()[i], out);
  }
  if (tuple && value.items().size() == 1) out.text += ',';
  out.text += tuple ? ')' : ']';
}

void append_dict(const Dict& dict, Prompt& out) {
  out.text += '{';
  bool first = true;
  for (const auto& [key, value] : dict.entries()) {
    if (!std::exchange(first, false)) out.text += ", ";
    append_repr(key, out);
    out.text += ": ";
    append_repr(value, out);
  }
  out.text += '}';
}

void append_repr(const Value& value, Prompt& out) {
  if (value.is_text()) {
    append_quoted(value.prompt(), out);
  } else if (value.is_sequence()) {
    append_sequence(value, out);
  } else if (value.is_dict()) {
    append_dict(value.mapping(), out);
  } else if (value.is_undefined()) {
    out.text += "Undefined";
  } else {
    out.append(to_text(value));
  }
}

}  // namespace

std::string real_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string digits = fmt::format("{}", value);
  if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
  return digits;
}

Prompt to_text(const Value& value) {
  if (value.is_text()) return value.prompt();
  Prompt out;
  if (value.is_none()) {
    out.text = "None";
  } else if (const auto* flag = value.as<bool>()) {
    out.text = *flag ? "True" : "False";
  } else if (value.is_integer()) {
    out.text = fmt::format("{}", value.integer());
  } else if (value.is_number()) {
    out.text = real_repr(value.real());
  } else if (value.is_sequence() || value.is_dict()) {
    append_repr(value, out);
  } else if (!value.is_undefined()) {
    out.text = fmt::format("<{}>", value.type_name());
  }
  return out;
}

Prompt to_repr(const Value& value) {
  Prompt out;
  append_repr(value, out);
  return out;
}

namespace {

base::Result<Value> convert(const base::json::value& json, int depth) {
  namespace bj = base::json;
  if (depth > kMaxDepth) {
    return base::error(base::ErrorCode::invalid_argument, "nested deeper than {} levels", kMaxDepth);
  }
  switch (json.kind()) {
    case bj::kind::null:
      return Value::none();
    case bj::kind::bool_:
      return Value(json.get_bool());
    case bj::kind::int64:
      return Value(std::int64_t{json.get_int64()});
    case bj::kind::uint64:
      if (json.get_uint64() > INT64_MAX) return Value(static_cast<double>(json.get_uint64()));
      return Value(static_cast<std::int64_t>(json.get_uint64()));
    case bj::kind::double_:
      return Value(json.get_double());
    case bj::kind::string:
      return Value::input(json.get_string());
    case bj::kind::array: {
      std::vector<Value> items;
      items.reserve(json.get_array().size());
      for (const auto& item : json.get_array()) {
        TRY(items.emplace_back(), convert(item, depth + 1));
      }
      return Value::list(std::move(items));
    }
    case bj::kind::object: {
      Dict dict;
      for (const auto& entry : json.get_object()) {
        TRY(Value value, convert(entry.value(), depth + 1));
        dict.set(Value::input(entry.key()), std::move(value));
      }
      return Value::dict(std::move(dict));
    }
  }
  return Value::none();
}

}  // namespace

base::Result<Value> from_json(const base::json::value& json) {
  return convert(json, 1);
}

}  // namespace kvasir::text::jinja
