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

template <Side kSide>
Result<Value> strip(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"chars"}));
  TRY_OK(context.budget.steps(subject.weight()));
  TRY_OK(context.budget.bytes(subject.str().size()));
  const Value* chars = arguments.find(0, "chars");
  const bool given = chars != nullptr && !chars->is_none();
  if (given && !chars->is_text()) return failure("strip arg must be None or str");
  const Range kept = stripped(subject.str(), given ? &chars->str() : nullptr, kSide);
  return Value::text(subject.prompt().slice(kept.begin, kept.end));
}

// Words between runs of space; the last holds the rest once `limit` cuts are made.
std::vector<Range> words_of(std::string_view text, std::int64_t limit) {
  std::vector<Range> words;
  std::size_t at = 0;
  while (true) {
    while (at < text.size()) {
      const base::Utf8Step step = base::utf8_step(text.substr(at));
      if (!is_space(step.value) || step.kind != base::Utf8Step::Kind::character) break;
      at += step.size;
    }
    if (at == text.size()) return words;
    if (limit >= 0 && static_cast<std::int64_t>(words.size()) == limit) {
      words.push_back({at, text.size()});
      return words;
    }
    const std::size_t begin = at;
    while (at < text.size()) {
      const base::Utf8Step step = base::utf8_step(text.substr(at));
      if (is_space(step.value) && step.kind == base::Utf8Step::Kind::character) break;
      at += step.size;
    }
    words.push_back({begin, at});
  }
}

std::vector<Range> parts_of(std::string_view text, std::string_view separator, std::int64_t limit) {
  std::vector<Range> parts;
  std::size_t begin = 0;
  while (limit < 0 || static_cast<std::int64_t>(parts.size()) < limit) {
    const std::size_t found = text.find(separator, begin);
    if (found == std::string_view::npos) break;
    parts.push_back({begin, found});
    begin = found + separator.size();
  }
  parts.push_back({begin, text.size()});
  return parts;
}

std::vector<Range> parts_from_right(std::string_view text, std::string_view separator, std::int64_t limit) {
  std::vector<Range> parts;
  std::size_t end = text.size();
  while (end >= separator.size() && (limit < 0 || static_cast<std::int64_t>(parts.size()) < limit)) {
    const std::size_t found = text.rfind(separator, end - separator.size());
    if (found == std::string_view::npos) break;
    parts.push_back({found + separator.size(), end});
    end = found;
  }
  parts.push_back({0, end});
  std::reverse(parts.begin(), parts.end());
  return parts;
}

Result<Value> slices_of(Context& context, const Prompt& text, const std::vector<Range>& ranges) {
  TRY_OK(context.budget.steps(ranges.size()));
  TRY_OK(context.budget.bytes(text.text.size() + ranges.size() * (sizeof(Prompt) + sizeof(Value))));
  std::vector<Value> parts;
  parts.reserve(ranges.size());
  for (const Range& range : ranges) parts.push_back(Value::text(text.slice(range.begin, range.end)));
  return Value::list(std::move(parts));
}

template <Side kFrom>
Result<Value> split(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"sep", "maxsplit"}));
  TRY_OK(context.budget.steps(subject.weight()));
  const Value* separator = arguments.find(0, "sep");
  TRY(const std::int64_t limit, integer_argument(arguments.find(1, "maxsplit"), -1));
  if (separator == nullptr || separator->is_none()) {
    if (kFrom == Side::right && limit >= 0) return failure("rsplit() with a limit needs a separator");
    return slices_of(context, subject.prompt(), words_of(subject.str(), limit));
  }
  if (!separator->is_text() || separator->str().empty())
    return failure("split() needs a separator that is not empty");
  return slices_of(context, subject.prompt(),
                   kFrom == Side::left ? parts_of(subject.str(), separator->str(), limit)
                                       : parts_from_right(subject.str(), separator->str(), limit));
}

Result<Value> split_lines(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  TRY_OK(context.budget.steps(subject.weight()));
  return slices_of(context, subject.prompt(), lines_of(subject.str()));
}

template <Side kFrom>
Result<Value> partition(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"sep"}));
  TRY(const std::string separator, text_argument(arguments.find(0, "sep"), ""));
  if (separator.empty()) return failure("partition() needs a separator that is not empty");
  TRY_OK(context.budget.steps(subject.weight()));
  TRY_OK(context.budget.bytes(subject.str().size()));
  const Prompt& text = subject.prompt();
  const std::size_t found = kFrom == Side::left ? text.text.find(separator) : text.text.rfind(separator);
  if (found == std::string::npos) {
    const Value empty = Value::literal("");
    return kFrom == Side::left ? Value::tuple({subject, empty, empty})
                               : Value::tuple({empty, empty, subject});
  }
  const std::size_t after = found + separator.size();
  return Value::tuple({Value::text(text.slice(0, found)), Value::text(text.slice(found, after)),
                       Value::text(text.slice(after, text.text.size()))});
}

// startswith and endswith: a string, or a tuple of them.
template <Side kSide>
Result<Value> matches_at(Context& context, const Value& subject, const Arguments& arguments) {
  const Value* pattern = arguments.find(0, "prefix");
  if (pattern == nullptr || arguments.positional.size() != 1)
    return failure("takes one string or tuple of strings");
  const auto matches = [&](const Value& part) {
    if (!part.is_text()) return false;
    return kSide == Side::left ? subject.str().starts_with(part.str()) : subject.str().ends_with(part.str());
  };
  if (pattern->is_text()) return Value(matches(*pattern));
  if (!pattern->is_list())
    return failure("takes one string or tuple of strings, not '{}'", pattern->type_name());
  TRY_OK(context.budget.steps(pattern->weight()));
  return Value(std::any_of(pattern->items().begin(), pattern->items().end(), matches));
}

template <Side kSide>
Result<Value> remove_affix(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"affix"}));
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
  return replaced(context, subject.prompt(), arguments);
}

Result<Value> join(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"iterable"}));
  const Value* iterable = arguments.find(0, "iterable");
  if (iterable == nullptr) return failure("join() takes one iterable");
  TRY(const auto items, iterate(context, *iterable));
  for (const Value& item : items) {
    if (!item.is_text()) return failure("sequence item: expected str instance, {} found", item.type_name());
  }
  return joined(context, items, subject.prompt());
}

// find, rfind, index, rindex: in characters.
enum class Missing { is_minus_one, is_error };
template <Side kFrom, Missing kMissing>
Result<Value> find(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"sub"}));
  TRY(const std::string part, text_argument(arguments.find(0, "sub"), ""));
  TRY_OK(context.budget.steps(subject.weight()));
  const std::size_t found = kFrom == Side::left ? subject.str().find(part) : subject.str().rfind(part);
  if (found != std::string::npos) {
    return Value::number(count_characters(std::string_view(subject.str()).substr(0, found)));
  }
  if (kMissing == Missing::is_error) return failure("substring not found");
  return Value(std::int64_t{-1});
}

Result<Value> count(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"sub"}));
  TRY(const std::string part, text_argument(arguments.find(0, "sub"), ""));
  TRY_OK(context.budget.steps(subject.weight()));
  if (part.empty()) return Value::number(count_characters(subject.str()) + 1);
  return Value::number(parts_of(subject.str(), part, -1).size() - 1);
}

template <Side kSide>
Result<Value> justify(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"width", "fillchar"}));
  TRY(const std::int64_t width, integer_argument(arguments.find(0, "width"), 0));
  TRY(const std::string fill, text_argument(arguments.find(1, "fillchar"), " "));
  const auto length = static_cast<std::int64_t>(count_characters(subject.str()));
  if (width <= length) return subject;
  if (width > INT32_MAX || count_characters(fill) != 1)
    return failure("a width or fill character is out of range");
  const auto missing = static_cast<std::size_t>(width - length);
  TRY_OK(context.budget.bytes(subject.str().size() + missing * fill.size()));
  // str.center gives the odd character to the left where the width is odd.
  const std::size_t before = kSide == Side::left ? 0
                             : kSide == Side::right
                                 ? missing
                                 : missing / 2 + (missing & static_cast<std::size_t>(width) & 1);
  Prompt out;
  for (std::size_t i = 0; i < before; ++i) out.append_literal(fill);
  out.append(subject.prompt());
  for (std::size_t i = before; i < missing; ++i) out.append_literal(fill);
  return Value::text(std::move(out));
}

template <std::string (*kChange)(std::string_view)>
Result<Value> change_case(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  TRY_OK(context.budget.bytes(subject.str().size()));
  return Value::text(changed(subject.prompt(), kChange));
}

Result<Value> capitalize(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  TRY_OK(context.budget.bytes(subject.str().size()));
  return Value::text(marked_like(capitalized(subject.str()), subject.prompt()));
}

bool is_no_letter(char32_t c) {
  return !is_letter(c);
}

Result<Value> title(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  TRY_OK(context.budget.bytes(subject.str().size()));
  return Value::text(marked_like(titled(subject.str(), is_no_letter), subject.prompt()));
}

Result<Value> format(Context& context, const Value& subject, const Arguments& arguments) {
  return format_braces(context, subject.prompt(), arguments);
}

constexpr std::array<NamedOperation, 28> kMethods = {{
    {"strip", strip<Side::both>},
    {"lstrip", strip<Side::left>},
    {"rstrip", strip<Side::right>},
    {"split", split<Side::left>},
    {"rsplit", split<Side::right>},
    {"splitlines", split_lines},
    {"partition", partition<Side::left>},
    {"rpartition", partition<Side::right>},
    {"startswith", matches_at<Side::left>},
    {"endswith", matches_at<Side::right>},
    {"removeprefix", remove_affix<Side::left>},
    {"removesuffix", remove_affix<Side::right>},
    {"replace", replace},
    {"join", join},
    {"find", find<Side::left, Missing::is_minus_one>},
    {"rfind", find<Side::right, Missing::is_minus_one>},
    {"index", find<Side::left, Missing::is_error>},
    {"rindex", find<Side::right, Missing::is_error>},
    {"count", count},
    {"ljust", justify<Side::left>},
    {"rjust", justify<Side::right>},
    {"center", justify<Side::both>},
    {"upper", change_case<upper>},
    {"lower", change_case<lower>},
    {"casefold", change_case<lower>},
    {"capitalize", capitalize},
    {"title", title},
    {"format", format},
}};

}  // namespace

std::span<const NamedOperation> text_methods() {
  return kMethods;
}

}  // namespace kvasir::text::jinja
