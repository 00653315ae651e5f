#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "text/jinja/builtins.h"
#include "text/jinja/characters.h"

namespace kvasir::text::jinja {

using base::Result;

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

namespace {

// The string methods below search in their subject.

std::vector<Range> parts_of(std::string_view text, std::string_view separator, std::int64_t limit) {
  std::vector<Range> parts;
  std::size_t begin = 0;
  while (limit < 0 || static_cast<std::int64_t>(parts.size()) < limit) {
    const std::size_t found = find_text(text, separator, begin);
    if (found == std::string_view::npos) break;
    parts.push_back({begin, found});
    begin = found + separator.size();
  }
  parts.push_back({begin, text.size()});
  return parts;
}

// Searches forwards in the reversed text, because parts are counted from the right.
std::vector<Range> parts_from_right(std::string_view text, std::string_view separator, std::int64_t limit) {
  const std::string backwards(text.rbegin(), text.rend());
  const std::string mark(separator.rbegin(), separator.rend());
  std::vector<Range> parts = parts_of(backwards, mark, limit);
  std::reverse(parts.begin(), parts.end());
  for (Range& part : parts) part = {text.size() - part.end, text.size() - part.begin};
  return parts;
}

std::vector<Range> words_from_right(std::string_view text, std::int64_t limit) {
  std::vector<Range> words = words_of(text, -1);
  const auto num_words = static_cast<std::int64_t>(words.size());
  if (limit < 0 || num_words <= limit) return words;
  // All text before the last words is one part, which keeps its leading spaces.
  const std::ptrdiff_t num_joined = num_words - limit;
  const Range head{0, words[static_cast<std::size_t>(num_joined - 1)].end};
  words.erase(words.begin(), words.begin() + num_joined);
  words.insert(words.begin(), head);
  return words;
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
  const Value* given = arguments.find(1, "maxsplit");
  if (given != nullptr && !given->is_integer()) return failure("maxsplit must be a whole number");
  const std::int64_t limit = given != nullptr ? given->integer() : -1;
  if (separator == nullptr || separator->is_none()) {
    return slices_of(
        context, subject.prompt(),
        kFrom == Side::left ? words_of(subject.str(), limit) : words_from_right(subject.str(), limit));
  }
  if (!separator->is_text() || separator->str().empty())
    return failure("split() needs a separator that is not empty");
  return slices_of(context, subject.prompt(),
                   kFrom == Side::left ? parts_of(subject.str(), separator->str(), limit)
                                       : parts_from_right(subject.str(), separator->str(), limit));
}

// splitlines(keepends=False)
Result<Value> split_lines(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"keepends"}));
  TRY_OK(context.budget.steps(subject.weight()));
  std::vector<Range> lines = lines_of(subject.str());
  if (flag_argument(arguments, 0, "keepends")) {
    for (std::size_t i = 0; i < lines.size(); ++i)
      lines[i].end = i + 1 < lines.size() ? lines[i + 1].begin : subject.str().size();
  }
  return slices_of(context, subject.prompt(), lines);
}

template <Side kFrom>
Result<Value> partition(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.by_position(1, 1));
  TRY(const std::string separator, text_argument(&arguments.positional[0], ""));
  if (separator.empty()) return failure("partition() needs a separator that is not empty");
  TRY_OK(context.budget.steps(subject.weight()));
  TRY_OK(context.budget.bytes(subject.str().size()));
  const Prompt& text = subject.prompt();
  const std::size_t found =
      kFrom == Side::left ? find_text(text.text, separator) : find_last_text(text.text, separator);
  if (found == std::string::npos) {
    const Value empty = Value::literal("");
    return kFrom == Side::left ? Value::tuple({subject, empty, empty})
                               : Value::tuple({empty, empty, subject});
  }
  const std::size_t after = found + separator.size();
  return Value::tuple({Value::text(text.slice(0, found)), Value::text(text.slice(found, after)),
                       Value::text(text.slice(after, text.text.size()))});
}

// The part of the subject that the optional start and end arguments select. The arguments work as in slices,
// but there is no window if the start is after the end.
struct Window {
  std::string_view text;
  std::size_t num_before = 0;  // characters before the window
};

Result<std::optional<Window>> window_of(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.by_position(1, 3));
  TRY_OK(context.budget.steps(subject.weight()));
  const std::string_view text = subject.str();
  if (arguments.positional.size() == 1) return std::optional<Window>(Window{text, 0});
  const auto length = static_cast<std::int64_t>(count_characters(text));
  std::array<std::int64_t, 2> bounds = {0, length};
  for (std::size_t i = 0; i < 2 && i + 1 < arguments.positional.size(); ++i) {
    const Value& bound = arguments.positional[i + 1];
    if (bound.is_none()) continue;
    if (!bound.is_integer()) return failure("slice indices must be integers or None");
    bounds[i] = bound.integer();
    if (bounds[i] < 0) bounds[i] = std::max<std::int64_t>(bounds[i] + length, 0);
  }
  bounds[1] = std::min(bounds[1], length);
  if (bounds[0] > bounds[1]) return std::optional<Window>();
  const std::size_t begin = character_offset(text, static_cast<std::size_t>(bounds[0]));
  const std::size_t end = character_offset(text, static_cast<std::size_t>(bounds[1]));
  return std::optional<Window>(Window{text.substr(begin, end - begin), static_cast<std::size_t>(bounds[0])});
}

// Implements startswith and endswith, which take a string or a tuple of strings.
template <Side kSide>
Result<Value> matches_at(Context& context, const Value& subject, const Arguments& arguments) {
  TRY(const auto window, window_of(context, subject, arguments));
  const Value& pattern = arguments.positional[0];
  if (!pattern.is_text() && !pattern.is_tuple())
    return failure("takes one string or tuple of strings, not '{}'", pattern.type_name());
  TRY_OK(context.budget.steps(pattern.weight()));
  const auto matches = [&](const Value& part) {
    if (!window) return false;
    return kSide == Side::left ? window->text.starts_with(part.str()) : window->text.ends_with(part.str());
  };
  if (pattern.is_text()) return Value(matches(pattern));
  for (const Value& part : pattern.items()) {
    if (!part.is_text()) return failure("the tuple must hold strings, not '{}'", part.type_name());
    if (matches(part)) return Value(true);
  }
  return Value(false);
}

// Implements find, rfind, index and rindex. Positions are in characters.
enum class Missing { is_minus_one, is_error };
template <Side kFrom, Missing kMissing>
Result<Value> find(Context& context, const Value& subject, const Arguments& arguments) {
  TRY(const auto window, window_of(context, subject, arguments));
  TRY(const std::string part, text_argument(&arguments.positional[0], ""));
  std::size_t found = std::string_view::npos;
  if (window) {
    found = kFrom == Side::left ? find_text(window->text, part) : find_last_text(window->text, part);
  }
  if (found != std::string::npos)
    return Value::number(window->num_before + count_characters(window->text.substr(0, found)));
  if (kMissing == Missing::is_error) return failure("substring not found");
  return Value(std::int64_t{-1});
}

Result<Value> count(Context& context, const Value& subject, const Arguments& arguments) {
  TRY(const auto window, window_of(context, subject, arguments));
  TRY(const std::string part, text_argument(&arguments.positional[0], ""));
  if (!window) return Value::number(0);
  if (part.empty()) return Value::number(count_characters(window->text) + 1);
  TRY_OK(context.budget.bytes(window->text.size() / part.size() * sizeof(Range)));
  return Value::number(parts_of(window->text, part, -1).size() - 1);
}

constexpr std::array<NamedOperation, 12> kSearchMethods = {{
    {"split", split<Side::left>},
    {"rsplit", split<Side::right>},
    {"splitlines", split_lines},
    {"partition", partition<Side::left>},
    {"rpartition", partition<Side::right>},
    {"startswith", matches_at<Side::left>},
    {"endswith", matches_at<Side::right>},
    {"find", find<Side::left, Missing::is_minus_one>},
    {"rfind", find<Side::right, Missing::is_minus_one>},
    {"index", find<Side::left, Missing::is_error>},
    {"rindex", find<Side::right, Missing::is_error>},
    {"count", count},
}};

}  // namespace

std::span<const NamedOperation> search_methods() {
  return kSearchMethods;
}

}  // namespace kvasir::text::jinja
