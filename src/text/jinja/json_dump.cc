#include <algorithm>
#include <cmath>
#include <utility>

#include "base/utf8.h"
#include "text/jinja/builtins.h"

namespace kvasir::text::jinja {

using base::Status;

namespace {

void append_unit(char32_t unit, std::string& out) {
  out += fmt::format("\\u{:04x}", static_cast<unsigned>(unit));
}

std::string escaped(std::string_view text, const JsonStyle& style) {
  std::string out;
  while (!text.empty()) {
    const base::Utf8Step step = base::utf8_step(text);
    const char c = text[0];
    constexpr std::string_view kNamed = "\"\\\n\r\t\f\b";
    constexpr std::string_view kNames = "\"\\nrtfb";
    if (const std::size_t named = kNamed.find(c); named != std::string_view::npos) {
      out += '\\';
      out += kNames[named];
    } else if (step.size == 1 && static_cast<unsigned char>(c) < 0x20) {
      append_unit(static_cast<unsigned char>(c), out);
    } else if (!style.ascii_only || step.value < 0x7F || step.kind != base::Utf8Step::Kind::character) {
      out += text.substr(0, step.size);
    } else if (step.value < 0x10000) {
      append_unit(step.value, out);
    } else {
      append_unit(0xD800 + ((step.value - 0x10000) >> 10), out);
      append_unit(0xDC00 + ((step.value - 0x10000) & 0x3FF), out);
    }
    text.remove_prefix(step.size);
  }
  return out;
}

class Dumper {
 public:
  explicit Dumper(const JsonStyle& style) : style_(style) {}

  Status dump(const Value& value) {
    if (value.is_text()) {
      dump_text(value.prompt());
    } else if (value.is_none()) {
      out_.text += "null";
    } else if (const auto* flag = value.as<bool>()) {
      out_.text += *flag ? "true" : "false";
    } else if (value.is_integer()) {
      out_.text += fmt::format("{}", value.integer());
    } else if (value.is_number()) {
      dump_real(value.real());
    } else if (value.is_list() || value.is_tuple()) {
      return dump_list(value.items());
    } else if (value.is_dict()) {
      return dump_dict(value.mapping());
    } else {
      return failure("Object of type {} is not JSON serializable", value.type_name());
    }
    return base::ok();
  }

  Prompt take() { return std::move(out_); }

 private:
  void dump_real(double value) {
    if (std::isnan(value)) {
      out_.text += "NaN";
    } else if (std::isinf(value)) {
      out_.text += value > 0 ? "Infinity" : "-Infinity";
    } else {
      out_.text += real_repr(value);
    }
  }

  void dump_text(const Prompt& text) {
    out_.text += '"';
    std::size_t at = 0;
    const std::string_view bytes = text.text;
    for (const Range& range : text.from_input) {
      out_.append_literal(escaped(bytes.substr(at, range.begin - at), style_));
      out_.append_input(escaped(bytes.substr(range.begin, range.end - range.begin), style_));
      at = range.end;
    }
    out_.append_literal(escaped(bytes.substr(at), style_));
    out_.text += '"';
  }

  void new_line() {
    if (!style_.indent) return;
    out_.text += '\n';
    for (int i = 0; i < level_; ++i) out_.text += *style_.indent;
  }

  Status dump_list(const std::vector<Value>& items) {
    out_.text += '[';
    ++level_;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_.text += style_.item_separator;
      new_line();
      TRY_OK(dump(items[i]));
    }
    --level_;
    if (!items.empty()) new_line();
    out_.text += ']';
    return base::ok();
  }

  Status dump_dict(const Dict& dict) {
    std::vector<const Dict::Entry*> entries;
    for (const auto& entry : dict.entries()) entries.push_back(&entry);
    if (style_.sort_keys) {
      const bool texts =
          std::all_of(entries.begin(), entries.end(), [](const auto* e) { return e->first.is_text(); });
      const bool numbers =
          std::all_of(entries.begin(), entries.end(), [](const auto* e) { return e->first.is_number(); });
      if (!texts && !numbers && entries.size() > 1) return failure("keys of different types have no order");
      std::stable_sort(entries.begin(), entries.end(),
                       [](const auto* a, const auto* b) { return less(a->first, b->first).value(); });
    }
    out_.text += '{';
    ++level_;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) out_.text += style_.item_separator;
      new_line();
      const Value& key = entries[i]->first;
      if (key.is_text()) {
        dump_text(key.prompt());
      } else if (!key.is_number() && !key.is_none()) {
        return failure("keys must be str, int, float, bool or None, not {}", key.type_name());
      } else {
        out_.text += '"';
        TRY_OK(dump(key));
        out_.text += '"';
      }
      out_.text += style_.key_separator;
      TRY_OK(dump(entries[i]->second));
    }
    --level_;
    if (!entries.empty()) new_line();
    out_.text += '}';
    return base::ok();
  }

  const JsonStyle& style_;
  Prompt out_;
  int level_ = 0;
};

}  // namespace

base::Result<Prompt> dump_json(Context& context, const Value& value, const JsonStyle& style) {
  TRY_OK(context.budget.steps(value.weight()));
  // Bytes around one element at most: its separators, and its indentation at the greatest depth.
  const std::size_t around = style.item_separator.size() + style.key_separator.size() +
                             (style.indent ? style.indent->size() * kMaxDepth : 0);
  if (around > 64) {
    if (around > (std::size_t{1} << 32)) return failure("the result is too large");
    TRY_OK(context.budget.bytes(value.weight() * around));
  }
  Dumper dumper(style);
  TRY_OK(dumper.dump(value));
  Prompt text = dumper.take();
  TRY_OK(context.budget.bytes(text.text.size()));
  return text;
}

}  // namespace kvasir::text::jinja
