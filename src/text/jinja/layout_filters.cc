#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "base/utf8.h"
#include "text/jinja/builtins.h"
#include "text/jinja/characters.h"

namespace kvasir::text::jinja {

using base::Result;

namespace {

// The filters below lay out text.

// indent(width=4, first=False, blank=False)
Result<Value> indent(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"width", "first", "blank"}));
  if (!subject.is_text()) return failure("indent() needs a string, not '{}'", subject.type_name());
  TRY(Prompt text, printed(context, subject));
  Prompt margin;
  const Value* width = arguments.find(0, "width");
  if (width != nullptr && width->is_text()) {
    margin = width->prompt();
  } else {
    if (width != nullptr && !width->is_integer()) return failure("indent() takes a number or a string");
    const std::int64_t columns = width != nullptr ? std::max<std::int64_t>(width->integer(), 0) : 4;
    TRY_OK(context.budget.bytes(static_cast<std::size_t>(columns)));
    margin.text.assign(static_cast<std::size_t>(columns), ' ');
  }
  const bool first = flag_argument(arguments, 1, "first");
  const bool blank = flag_argument(arguments, 2, "blank");
  text.append_literal("\n");
  const auto lines = lines_of(text.text);
  TRY_OK(context.budget.steps(lines.size()));
  Prompt out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool empty = lines[i].begin == lines[i].end;
    if (i > 0) out.append_literal("\n");
    if (i == 0 ? first : !empty || blank) {
      TRY_OK(context.budget.bytes(margin.text.size()));
      out.append(margin);
    }
    out.append(text.slice(lines[i].begin, lines[i].end));
  }
  return Value::text(std::move(out));
}

Result<Value> word_count(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  TRY(const Prompt text, printed(context, subject));
  std::string_view rest = text.text;
  std::size_t count = 0;
  bool inside = false;
  while (!rest.empty()) {
    const base::Utf8Step step = base::utf8_step(rest);
    const bool part = is_letter(step.value) || is_numeric(step.value) || step.value == '_';
    if (part && !inside) ++count;
    inside = part;
    rest.remove_prefix(step.size);
  }
  return Value::number(count);
}

// Implements Python's len(). Returns -1 if the value has no length.
std::int64_t size_of(const Value& value) {
  if (value.is_text()) return static_cast<std::int64_t>(count_characters(value.str()));
  if (value.is_dict()) return static_cast<std::int64_t>(value.mapping().entries().size());
  if (!value.is_sequence() || value.is_iterator()) return -1;
  return static_cast<std::int64_t>(value.items().size());
}

// truncate(length=255, killwords=False, end='...', leeway=5)
Result<Value> truncate(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"length", "killwords", "end", "leeway"}));
  if (subject.is_undefined()) return subject;
  TRY_OK(context.budget.steps(subject.weight()));
  const std::int64_t size = size_of(subject);
  TRY(const std::int64_t length, integer_argument(arguments.find(0, "length"), 255));
  TRY(const std::string end, text_argument(arguments.find(2, "end"), "..."));
  TRY(const std::int64_t leeway, integer_argument(arguments.find(3, "leeway"), 5));
  const auto end_length = static_cast<std::int64_t>(count_characters(end));
  if (length < end_length || leeway < 0 || length > INT32_MAX || leeway > INT32_MAX) {
    return failure("truncate() got a length below that of its end, or too large");
  }
  if (size >= 0 && size <= length + leeway) return subject;
  if (!subject.is_text()) return failure("truncate() needs a string, not '{}'", subject.type_name());
  const Prompt& text = subject.prompt();
  TRY_OK(context.budget.bytes(text.text.size()));
  Prompt cut = text.slice(0, character_offset(text.text, static_cast<std::size_t>(length - end_length)));
  if (!flag_argument(arguments, 1, "killwords")) {
    const std::size_t space = cut.text.rfind(' ');
    if (space != std::string::npos) cut = cut.slice(0, space);
  }
  cut.append_literal(end);
  return Value::text(std::move(cut));
}

Result<Value> center(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"width"}));
  TRY(const Prompt text, printed(context, subject));
  const Value* width = arguments.find(0, "width");
  return justified(context, text, {.width = width != nullptr ? *width : Value(std::int64_t{80})}, Side::both);
}

struct WrapRule {
  std::size_t width = 79;
  bool breaks_words = true;
  bool breaks_hyphens = true;
};

// Splits a line into spaces and words. If lines may break at hyphens, a word is split after its hyphens.
std::vector<Range> chunks_of(std::string_view line, const WrapRule& rule) {
  constexpr std::string_view kSpaces = "\t\n\v\f\r ";
  const auto is_space_at = [&](std::size_t at) { return kSpaces.find(line[at]) != std::string_view::npos; };
  const auto is_letter_at = [&](std::size_t at) {
    return at < line.size() && !std::isdigit(static_cast<unsigned char>(line[at])) &&
           (std::isalpha(static_cast<unsigned char>(line[at])) ||
            static_cast<unsigned char>(line[at]) >= 0x80);
  };
  std::vector<Range> chunks;
  std::size_t begin = 0;
  while (begin < line.size()) {
    std::size_t end = begin + 1;
    if (is_space_at(begin)) {
      while (end < line.size() && is_space_at(end)) ++end;
    } else {
      while (end < line.size() && !is_space_at(end)) {
        // A hyphen between letters ends a part.
        const bool hyphen = rule.breaks_hyphens && line[end - 1] == '-' && end - begin >= 2 &&
                            is_letter_at(end - 2) && is_letter_at(end);
        if (hyphen) break;
        ++end;
      }
    }
    chunks.push_back({begin, end});
    begin = end;
  }
  return chunks;
}

// Wraps as Python's textwrap does: fills lines with chunks, drops spaces at the ends of lines, and cuts
// chunks that are longer than a line.
Result<std::vector<Prompt>> wrapped(Context& context, const Prompt& line, const WrapRule& rule) {
  std::vector<Prompt> lines;
  auto chunks = chunks_of(line.text, rule);
  std::reverse(chunks.begin(), chunks.end());
  const auto length_of = [&](const Range& range) {
    return count_characters(std::string_view(line.text).substr(range.begin, range.end - range.begin));
  };
  const auto is_blank = [&](const Range& range) {
    return line.text.find_first_not_of("\t\n\v\f\r ", range.begin) >= range.end;
  };
  while (!chunks.empty()) {
    TRY_OK(context.budget.steps(1));
    std::vector<Range> now;
    std::size_t length = 0;
    if (is_blank(chunks.back()) && !lines.empty()) chunks.pop_back();
    while (!chunks.empty() && length + length_of(chunks.back()) <= rule.width) {
      length += length_of(chunks.back());
      now.push_back(chunks.back());
      chunks.pop_back();
    }
    if (!chunks.empty() && length_of(chunks.back()) > rule.width) {
      const std::size_t space = rule.width < 1 ? 1 : rule.width - length;
      Range& word = chunks.back();
      if (rule.breaks_words) {
        const std::string_view text = std::string_view(line.text).substr(word.begin, word.end - word.begin);
        std::size_t cut = character_offset(text, space);
        // A cut after a hyphen is better, if there is one.
        const std::size_t hyphen = rule.breaks_hyphens && text.size() > cut
                                       ? text.rfind('-', cut == 0 ? 0 : cut - 1)
                                       : std::string_view::npos;
        if (hyphen != std::string_view::npos && hyphen > 0 && text.find_first_not_of('-') < hyphen)
          cut = hyphen + 1;
        now.push_back({word.begin, word.begin + cut});
        word.begin += cut;
        if (word.begin == word.end) chunks.pop_back();
      } else if (now.empty()) {
        now.push_back(word);
        chunks.pop_back();
      }
    }
    if (!now.empty() && is_blank(now.back())) now.pop_back();
    if (now.empty()) continue;
    lines.push_back(line.slice(now.front().begin, now.back().end));
  }
  return lines;
}

// wordwrap(width=79, break_long_words=True, wrapstring=None, break_on_hyphens=True)
Result<Value> word_wrap(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"width", "break_long_words", "wrapstring", "break_on_hyphens"}));
  if (!subject.is_text()) return failure("wordwrap() needs a string, not '{}'", subject.type_name());
  TRY(const std::int64_t width, integer_argument(arguments.find(0, "width"), 79));
  if (width <= 0) return failure("invalid width {} (must be > 0)", width);
  const Value* breaks = arguments.find(1, "break_long_words");
  const Value* hyphens = arguments.find(3, "break_on_hyphens");
  const WrapRule rule{.width = static_cast<std::size_t>(width),
                      .breaks_words = breaks == nullptr || breaks->truthy(),
                      .breaks_hyphens = hyphens == nullptr || hyphens->truthy()};
  const Value* between = given_argument(arguments, 2, "wrapstring");
  TRY(const std::string separator, text_argument(between, "\n"));
  TRY_OK(context.budget.steps(subject.str().size()));
  TRY_OK(context.budget.bytes(subject.str().size() * 8));
  Prompt out;
  bool first = true;
  for (const Range& range : lines_of(subject.str())) {
    TRY(const auto lines, wrapped(context, subject.prompt().slice(range.begin, range.end), rule));
    if (lines.empty() && !std::exchange(first, false)) out.append_literal(separator);
    for (const Prompt& line : lines) {
      TRY_OK(context.budget.bytes(separator.size()));
      if (!std::exchange(first, false)) out.append_literal(separator);
      out.append(line);
    }
  }
  return Value::text(std::move(out));
}

// filesizeformat(binary=False)
Result<Value> file_size(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"binary"}));
  TRY(const std::optional<double> parsed, real_of(context, subject));
  if (!parsed || !std::isfinite(*parsed)) return failure("could not convert to a size");
  const bool binary = flag_argument(arguments, 0, "binary");
  const double base = binary ? 1024 : 1000;
  if (*parsed == 1) return Value::literal("1 Byte");
  if (*parsed < base) return Value::literal(fmt::format("{} Bytes", static_cast<std::int64_t>(*parsed)));
  constexpr std::string_view kPrefixes = "kMGTPEZY";
  double unit = base;
  std::size_t i = 0;
  for (; i < kPrefixes.size(); ++i) {
    unit *= base;
    if (*parsed < unit || i + 1 == kPrefixes.size()) break;
  }
  const std::string prefix =
      binary ? fmt::format("{}iB", i == 0 ? 'K' : kPrefixes[i]) : fmt::format("{}B", kPrefixes[i]);
  return Value::literal(fmt::format("{:.1f} {}", base * *parsed / unit, prefix));
}

constexpr std::array<NamedOperation, 6> kLayoutFilters = {{
    {"indent", indent},
    {"wordcount", word_count},
    {"truncate", truncate},
    {"center", center},
    {"wordwrap", word_wrap},
    {"filesizeformat", file_size},
}};

}  // namespace

std::span<const NamedOperation> layout_filters() {
  return kLayoutFilters;
}

}  // namespace kvasir::text::jinja
