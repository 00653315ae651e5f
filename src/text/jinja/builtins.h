#pragma once

#include <optional>
#include <span>
#include <string>

#include "text/jinja/callable.h"

namespace kvasir::text::jinja {

std::span<const NamedOperation> text_filters();
std::span<const NamedOperation> value_filters();
std::span<const NamedOperation> list_filters();
std::span<const NamedOperation> selection_filters();
std::span<const NamedOperation> text_methods();
std::span<const NamedOperation> text_predicates();
std::span<const NamedOperation> dict_methods();
std::span<const NamedOperation> list_methods();

// What several built-ins share.

// The argument as text, `fallback` where it was not given.
base::Result<std::string> text_argument(const Value* argument, std::string_view fallback);
base::Result<std::int64_t> integer_argument(const Value* argument, std::int64_t fallback);
// "a.b.0": the item of an item.
Value path_of(const Value& object, const Value& path);
base::Result<Value> replaced(Context& context, const Prompt& text, const Arguments& arguments);
base::Result<Value> joined(Context& context, const std::vector<Value>& items, const Prompt& separator);

// json.dumps, marks kept.
struct JsonStyle {
  bool ascii_only = false;
  bool sort_keys = false;
  std::optional<std::string> indent;  // unset: all on one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};
base::Result<Prompt> dump_json(Context& context, const Value& value, const JsonStyle& style);

}  // namespace kvasir::text::jinja
