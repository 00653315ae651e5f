#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "text/jinja/characters.h"
#include "text/jinja/format_spec.h"
#include "text/jinja/operators.h"

namespace kvasir::text::jinja {

using base::Result;

namespace {

// Implements Python's `%` formatting: parses conversions such as "%-08.3f" and applies them to the arguments.
class PercentFormat {
 public:
  PercentFormat(Context& context, const Prompt& format, const Value& arguments)
      : context_(context), format_(format), text_(format.text), arguments_(arguments) {}

  Result<Value> run() {
    Prompt out;
    while (true) {
      const std::size_t percent = std::min(text_.find('%', at_), text_.size());
      TRY_OK(context_.budget.bytes(percent - at_));
      out.append(format_.slice(at_, percent));
      if (percent == text_.size()) break;
      at_ = percent + 1;
      TRY_OK(context_.budget.steps(1));
      TRY(const Prompt part, conversion());
      out.append(part);
    }
    // The items of a mapping may stay unused. Here Python treats every value with items as a mapping.
    const bool mapping = arguments_.is_dict() || arguments_.is_list() || arguments_.is_undefined() ||
                         arguments_.is(Sequence::Kind::range);
    if (!mapping && num_used_ < num_available())
      return failure("not all arguments converted during string formatting");
    return Value::text(std::move(out));
  }

 private:
  std::size_t num_available() const { return arguments_.is_tuple() ? arguments_.items().size() : 1; }

  Result<Value> next_argument() {
    if (keyed_) return *std::exchange(keyed_, std::nullopt);
    if (num_used_ >= num_available()) return failure("not enough arguments for format string");
    const std::size_t index = num_used_++;
    return arguments_.is_tuple() ? arguments_.items()[index] : arguments_;
  }

  base::Status read_key() {
    if (at_ == text_.size() || text_[at_] != '(') return base::ok();
    const std::size_t begin = ++at_;
    for (int open = 1; open > 0; ++at_) {
      if (at_ == text_.size()) return failure("incomplete format key");
      open += text_[at_] == '(' ? 1 : text_[at_] == ')' ? -1 : 0;
    }
    const std::string_view key = text_.substr(begin, at_ - 1 - begin);
    if (!arguments_.is_dict()) return failure("format requires a mapping");
    const Value* value = arguments_.mapping().find(key);
    if (value == nullptr) return failure("the format's key '{}' is missing", key);
    keyed_ = *value;
    return base::ok();
  }

  // Reads digits, or a `*`, which takes an argument.
  Result<std::int64_t> read_number() {
    if (at_ < text_.size() && text_[at_] == '*') {
      ++at_;
      TRY(const Value value, next_argument());
      if (!value.is<std::int64_t>() && !value.is<bool>()) return failure("* wants int");
      if (std::abs(static_cast<double>(value.integer())) > static_cast<double>(kMaxFormatWidth))
        return failure("a width in a format is too large");
      return value.integer();
    }
    std::int64_t number = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      number = number * 10 + (text_[at_] - '0');
      if (number > kMaxFormatWidth) return failure("a width in a format is too large");
    }
    return number;
  }

  // Begins just after the "%" and ends just after the type.
  Result<Prompt> conversion() {
    TRY_OK(read_key());
    FormatSpec spec{.align = '>'};
    bool left = false;
    bool zero = false;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '-') {
        left = true;
      } else if (c == '0') {
        zero = true;
      } else if (c == '+' || (c == ' ' && spec.sign != '+')) {
        spec.sign = c;
      } else if (c == '#') {
        spec.alternate = true;
      } else if (c != ' ') {
        break;
      }
    }
    TRY(spec.width, read_number());
    if (spec.width < 0) {
      left = true;
      spec.width = -spec.width;
    }
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      TRY(spec.precision, read_number());
      spec.precision = std::max<std::int64_t>(spec.precision, 0);
    }
    if (at_ < text_.size() && std::string_view("hlL").find(text_[at_]) != std::string_view::npos) ++at_;
    if (at_ >= text_.size()) return failure("incomplete format");
    spec.type = text_[at_++];
    if (spec.type == '%') return Prompt{.text = "%", .from_input = {}};
    if (left) {
      spec.align = '<';
    } else if (zero && std::string_view("srac").find(spec.type) == std::string_view::npos) {
      spec.align = '=';
      spec.fill.assign(1, '0');
    }
    TRY(const Value value, next_argument());
    TRY(const Prompt text, converted(value, spec));
    return padded(context_, text, spec);
  }

  Result<Prompt> converted(const Value& value, const FormatSpec& spec) {
    const auto is_one_of = [&](std::string_view types) {
      return types.find(spec.type) != std::string_view::npos;
    };
    if (is_one_of("sra")) {
      TRY_OK(context_.budget.steps(value.weight()));
      Prompt text = spec.type == 's' ? to_text(value) : to_repr(value);
      if (spec.type == 'a') text = ascii_only(text);
      TRY_OK(context_.budget.bytes(text.text.size()));
      if (spec.precision < 0) return text;
      return text.slice(0, character_offset(text.text, static_cast<std::size_t>(spec.precision)));
    }
    if (spec.type == 'c') return character(value);
    if (!is_one_of("diuoxXeEfFgG")) return failure("unsupported format character '{}'", spec.type);
    if (!value.is_number())
      return failure("%{} format: a real number is required, not {}", spec.type, value.type_name());
    Prompt text;
    if (is_one_of("eEfFgG")) {
      TRY(text.text, number_digits(value, spec));
      return text;
    }
    TRY(text.text, whole_digits(value, spec));
    return text;
  }

  // Formats an integer. Its precision is the minimum number of digits.
  static Result<std::string> whole_digits(const Value& value, FormatSpec spec) {
    if (value.is<double>()) {
      if (std::string_view("oxX").find(spec.type) != std::string_view::npos)
        return failure("%{} format: an integer is required, not float", spec.type);
      if (!(std::abs(value.real()) < 9.2e18)) return failure("the number is too large");
    }
    const auto whole = value.is_integer() ? value.integer() : static_cast<std::int64_t>(value.real());
    if (std::string_view("iu").find(spec.type) != std::string_view::npos) spec.type = 'd';
    const auto least = static_cast<std::size_t>(std::max<std::int64_t>(spec.precision, 0));
    TRY(std::string digits, number_digits(Value(whole), spec));
    std::size_t begin = digits[0] == '-' || digits[0] == '+' || digits[0] == ' ' ? 1 : 0;
    if (spec.alternate && spec.type != 'd') begin += 2;
    if (digits.size() - begin < least) digits.insert(begin, least - (digits.size() - begin), '0');
    return digits;
  }

  static Result<Prompt> character(const Value& value) {
    if (value.is_text() && count_characters(value.str()) == 1) return value.prompt();
    if (!value.is_integer()) return failure("%c requires int or char");
    Prompt text;
    TRY(text.text, number_digits(value, {.type = 'c'}));
    return text;
  }

  static Prompt ascii_only(const Prompt& text) {
    std::string out;
    std::string_view rest = text.text;
    while (!rest.empty()) {
      const base::Utf8Step step = base::utf8_step(rest);
      if (step.value < 0x80) {
        out += rest[0];
      } else if (step.value < 0x100) {
        out += fmt::format("\\x{:02x}", static_cast<unsigned>(step.value));
      } else if (step.value < 0x10000) {
        out += fmt::format("\\u{:04x}", static_cast<unsigned>(step.value));
      } else {
        out += fmt::format("\\U{:08x}", static_cast<unsigned>(step.value));
      }
      rest.remove_prefix(step.size);
    }
    return marked_like(std::move(out), text);
  }

  Context& context_;
  const Prompt& format_;
  std::string_view text_;
  const Value& arguments_;
  std::size_t at_ = 0;
  std::size_t num_used_ = 0;
  std::optional<Value> keyed_;  // the value of "%(key)s"
};

}  // namespace

Result<Value> format_percent(Context& context, const Prompt& format, const Value& arguments) {
  return PercentFormat(context, format, arguments).run();
}

}  // namespace kvasir::text::jinja
