#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/callable.h"
#include "text/jinja/characters.h"

namespace kvasir::text::jinja {

std::span<const NamedOperation> text_filters();
std::span<const NamedOperation> value_filters();
std::span<const NamedOperation> list_filters();
std::span<const NamedOperation> selection_filters();
std::span<const NamedOperation> layout_filters();
std::span<const NamedOperation> order_filters();
std::span<const NamedOperation> text_methods();
std::span<const NamedOperation> search_methods();
std::span<const NamedOperation> text_predicates();
std::span<const NamedOperation> dict_methods();
std::span<const NamedOperation> list_methods();

// The functions below are shared by several built-ins.

// Returns the argument as text, or `fallback` if it was not given.
base::Result<std::string> text_argument(const Value* argument, std::string_view fallback);
base::Result<std::int64_t> integer_argument(const Value* argument, std::int64_t fallback);
// Follows a path such as "a.b.0" through items. Returns the object itself if `path` is absent, and
// `fallback`, if there is one, if an item is missing.
base::Result<Value> path_of(Context& context, const Value& object, const Value& path,
                            const Value* fallback = nullptr);
// Whether a flag was given, by position or by name, and is true.
bool flag_argument(const Arguments& arguments, std::size_t position, std::string_view name);
// Returns the argument, or null if it was not given or is none.
const Value* given_argument(const Arguments& arguments, std::size_t position, std::string_view name);
struct Replacement {
  std::string from;
  Prompt to;
  std::int64_t limit = -1;  // negative: all
};
struct Justification {
  Value width;
  Prompt fill = {.text = " ", .from_input = {}};
};
// Implements str.ljust, str.rjust or str.center: `side` is the side to which the text is moved.
base::Result<Value> justified(Context& context, const Prompt& text, const Justification& rule, Side side);
// Returns the words between runs of spaces. After `limit` splits, the last word is the rest of the text. A
// negative limit means no limit.
std::vector<Range> words_of(std::string_view text, std::int64_t limit);
// Implements Python's float(value). Absent if the value is not a number.
base::Result<std::optional<double>> real_of(Context& context, const Value& value);
base::Result<Value> replaced(Context& context, const Prompt& text, const Replacement& what);
base::Result<Value> joined(Context& context, const std::vector<Value>& items, const Prompt& separator);

// Options of json.dumps. The result keeps the marks of input.
struct JsonStyle {
  bool ascii_only = false;
  bool sort_keys = false;
  std::optional<std::string> indent;  // unset: all on one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};
base::Result<Prompt> dump_json(Context& context, const Value& value, const JsonStyle& style);

}  // namespace kvasir::text::jinja
