#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "text/jinja/characters.h"
#include "text/jinja/format_spec.h"
#include "text/jinja/operators.h"

namespace kvasir::text::jinja {

using base::Result;

namespace {

// Implements Python's str.format, with fields such as "{0.name[key]!r:>{width}}".
class BraceFormat {
 public:
  BraceFormat(Context& context, const Arguments& arguments) : context_(context), arguments_(arguments) {}

  // Formats the text. A format specification may contain fields, but the specifications of these may not.
  Result<Prompt> run(const Prompt& format, int depth) {
    if (depth > 2) return failure("a format nests too deep");
    const std::string_view text = format.text;
    Prompt out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t brace = std::min(text.find_first_of("{}", at), text.size());
      TRY_OK(context_.budget.bytes(brace - at));
      out.append(format.slice(at, brace));
      if (brace == text.size()) break;
      if (text.substr(brace, 2) == "{{" || text.substr(brace, 2) == "}}") {
        out.append(format.slice(brace, brace + 1));
        at = brace + 2;
        continue;
      }
      if (text[brace] == '}') return failure("single '}}' encountered in format string");
      TRY(const std::size_t end, closing(text, brace));
      TRY_OK(context_.budget.steps(1 + (end - brace) / 16));
      TRY(const Prompt part, field(format.slice(brace + 1, end), depth));
      out.append(part);
      at = end + 1;
    }
    return out;
  }

 private:
  // Returns the position of the brace that closes the one at `open`. Braces in brackets do not count.
  static Result<std::size_t> closing(std::string_view text, std::size_t open) {
    int depth = 0;
    bool bracket = false;
    bool in_spec = false;
    for (std::size_t at = open; at < text.size(); ++at) {
      if (bracket) {
        bracket = text[at] != ']';
        continue;
      }
      if (text[at] == '[' && depth == 1 && !in_spec) bracket = true;
      if (text[at] == ':' || text[at] == '!') in_spec = true;
      if (text[at] == '{') ++depth;
      if (text[at] == '}' && --depth == 0) return at;
    }
    return failure("expected '}}' before end of string");
  }

  struct Parts {
    std::string_view name;
    char conversion = '\0';
    std::size_t spec = std::string_view::npos;  // where the specification begins; npos: there is none
  };

  static Result<Parts> parts_of(std::string_view field) {
    bool bracket = false;
    std::size_t end = 0;
    for (; end < field.size(); ++end) {
      if (field[end] == '{') return failure("unexpected '{{' in field name");
      if (field[end] == '[') bracket = true;
      if (field[end] == ']') bracket = false;
      if (!bracket && (field[end] == '!' || field[end] == ':')) break;
    }
    Parts parts{.name = field.substr(0, end)};
    if (end < field.size() && field[end] == '!') {
      if (end + 1 == field.size()) return failure("end of string while looking for conversion specifier");
      parts.conversion = field[end + 1];
      end += 2;
      if (end < field.size() && field[end] != ':') return failure("expected ':' after conversion specifier");
    }
    if (end < field.size()) parts.spec = end + 1;
    return parts;
  }

  Result<Prompt> field(const Prompt& written, int depth) {
    TRY(const Parts parts, parts_of(written.text));
    TRY(Value value, named(parts.name));
    TRY_OK(context_.budget.steps(value.weight()));
    if (parts.conversion == 'r' || parts.conversion == 'a') {
      value = Value::text(to_repr(value));
    } else if (parts.conversion == 's') {
      value = Value::text(to_text(value));
    } else if (parts.conversion != '\0') {
      return failure("unknown conversion specifier {}", parts.conversion);
    }
    if (parts.spec == std::string_view::npos) return formatted(context_, value, {});
    TRY(const Prompt spec_text, run(written.slice(parts.spec, written.text.size()), depth + 1));
    TRY(const FormatSpec spec, read_format_spec(spec_text.text));
    if (spec_text.text.empty()) return formatted(context_, value, {});
    return formatted(context_, value, spec);
  }

  Result<Value> first_of(std::string_view name) {
    const bool number = !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
    if (name.empty() || number) {
      if (std::exchange(numbering_, name.empty() ? Numbering::automatic : Numbering::manual) ==
          (name.empty() ? Numbering::manual : Numbering::automatic))
        return failure("cannot switch between manual and automatic field numbering");
      std::size_t position = next_;
      if (name.empty()) {
        ++next_;
      } else if (std::from_chars(name.data(), name.data() + name.size(), position).ec != std::errc()) {
        return failure("too many decimal digits in format string");
      }
      if (position >= arguments_.positional.size())
        return failure("the format field {} has no argument", position);
      return arguments_.positional[position];
    }
    const Value* value = arguments_.find(arguments_.positional.size(), name);
    if (value == nullptr) return failure("the format field '{}' has no argument", name);
    return *value;
  }

  Result<Value> named(std::string_view name) {
    std::size_t at = std::min(name.find_first_of(".["), name.size());
    TRY(Value value, first_of(name.substr(0, at)));
    while (at < name.size()) {
      if (value.is_undefined()) return undefined_error(value);
      TRY_OK(context_.budget.steps(value.is_text() ? value.weight() : 1));
      if (name[at] == '.') {
        const std::size_t end = std::min(name.find_first_of(".[", at + 1), name.size());
        if (end == at + 1) return failure("empty attribute in format string");
        value = attribute_of(value, name.substr(at + 1, end - at - 1));
        at = end;
        continue;
      }
      if (name[at] != '[') return failure("only '.' or '[' may follow ']' in format field specifier");
      const std::size_t end = name.find(']', at);
      if (end == std::string_view::npos) return failure("missing ']' in format string");
      const std::string_view key = name.substr(at + 1, end - at - 1);
      if (key.empty()) return failure("empty attribute in format string");
      std::int64_t index = 0;
      const bool number = key.find_first_not_of("0123456789") == std::string_view::npos &&
                          std::from_chars(key.data(), key.data() + key.size(), index).ec == std::errc();
      value = item_of(value, number ? Value(index) : Value::literal(key));
      at = end + 1;
    }
    return value;
  }

  enum class Numbering { unknown, automatic, manual };

  Context& context_;
  const Arguments& arguments_;
  Numbering numbering_ = Numbering::unknown;
  std::size_t next_ = 0;
};

}  // namespace

Result<Value> format_braces(Context& context, const Prompt& format, const Arguments& arguments) {
  TRY(Prompt text, BraceFormat(context, arguments).run(format, 1));
  return Value::text(std::move(text));
}

}  // namespace kvasir::text::jinja
