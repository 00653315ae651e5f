#include "text/jinja/builtins.h"

#include <algorithm>
#include <array>
#include <utility>

#include "text/jinja/characters.h"

namespace kvasir::text::jinja {

using base::Result;

namespace {

Operation find_in(std::initializer_list<std::span<const NamedOperation>> tables, std::string_view name) {
  for (const auto& table : tables) {
    for (const NamedOperation& entry : table) {
      if (entry.name == name) return entry.operation;
    }
  }
  return nullptr;
}

}  // namespace

Operation find_filter(std::string_view name) {
  return find_in({text_filters(), value_filters(), list_filters(), order_filters(), selection_filters(),
                  layout_filters()},
                 name);
}

Operation find_method(const Value& subject, std::string_view name) {
  if (subject.is_text()) return find_in({text_methods(), search_methods(), text_predicates()}, name);
  if (subject.is_dict()) return find_in({dict_methods()}, name);
  if (subject.is_indexed()) {
    // Tuples and ranges have only the methods of lists that change nothing, except copy().
    if (name == "copy" && !subject.is_list()) return nullptr;
    return find_in({list_methods()}, name);
  }
  return nullptr;
}

bool is_changing_method(const Value& subject, std::string_view name) {
  constexpr std::array<std::string_view, 5> kOfDicts = {"clear", "pop", "popitem", "setdefault", "update"};
  constexpr std::array<std::string_view, 8> kOfLists = {"append", "clear",  "extend",  "insert",
                                                        "pop",    "remove", "reverse", "sort"};
  if (subject.is_dict()) return std::find(kOfDicts.begin(), kOfDicts.end(), name) != kOfDicts.end();
  return subject.is_list() && std::find(kOfLists.begin(), kOfLists.end(), name) != kOfLists.end();
}

Result<std::string> text_argument(const Value* argument, std::string_view fallback) {
  if (argument == nullptr) return std::string(fallback);
  if (!argument->is_text()) return failure("expected a string, got '{}'", argument->type_name());
  return argument->str();
}

Result<std::int64_t> integer_argument(const Value* argument, std::int64_t fallback) {
  if (argument == nullptr || argument->is_none()) return fallback;
  if (!argument->is_integer()) return failure("expected an integer, got '{}'", argument->type_name());
  return argument->integer();
}

bool flag_argument(const Arguments& arguments, std::size_t position, std::string_view name) {
  const Value* value = arguments.find(position, name);
  return value != nullptr && value->truthy();
}

const Value* given_argument(const Arguments& arguments, std::size_t position, std::string_view name) {
  const Value* value = arguments.find(position, name);
  return value != nullptr && !value->is_none() ? value : nullptr;
}

Result<Value> path_of(Context& context, const Value& object, const Value& path, const Value* fallback) {
  TRY_OK(context.budget.steps(path.weight()));
  if (!path.is_text()) {
    if (path.is_none()) return object;
    if (object.is_undefined()) return undefined_error(object);
    TRY_OK(context.budget.steps(object.is_text() ? object.weight() : 1));
    const Value item = item_of(object, path);
    return item.is_undefined() && fallback != nullptr ? *fallback : item;
  }
  Value at = object;
  std::string_view rest = path.str();
  while (true) {
    const std::size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    const bool number =
        !part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == std::string_view::npos;
    if (at.is_undefined()) return undefined_error(at);
    TRY_OK(context.budget.steps(at.is_text() ? at.weight() : 1));
    at = item_of(at, number ? Value(std::int64_t{std::stoi(std::string(part))}) : Value::literal(part));
    if (at.is_undefined() && fallback != nullptr) at = *fallback;
    if (dot == std::string_view::npos) return at;
    rest.remove_prefix(dot + 1);
  }
}

Result<Value> joined(Context& context, const std::vector<Value>& items, const Prompt& separator) {
  TRY_OK(context.budget.steps(items.size()));
  Prompt all;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) {
      TRY_OK(context.budget.bytes(separator.text.size()));
      all.append(separator);
    }
    TRY(const Prompt text, printed(context, items[i]));
    all.append(text);
  }
  return Value::text(std::move(all));
}

// Replaces as str.replace does: an empty `from` matches before every character and at the end.
Result<Value> replaced(Context& context, const Prompt& text, const Replacement& what) {
  const auto& [from, to, limit] = what;
  TRY_OK(context.budget.steps((text.text.size() + from.size()) / 16));
  TRY_OK(context.budget.bytes(text.text.size()));
  Prompt out;
  std::size_t at = 0;
  std::size_t search = 0;
  for (std::int64_t count = limit; count != 0; --count) {
    const std::size_t found = find_text(text.text, from, search);
    if (found == std::string::npos) break;
    TRY_OK(context.budget.bytes(to.text.size()));
    TRY_OK(context.budget.steps(1));
    out.append(text.slice(at, found));
    out.append(to);
    at = found + from.size();
    if (!from.empty()) {
      search = at;
      continue;
    }
    if (found == text.text.size()) break;
    search = found + 1;
    while (search < text.text.size() && (static_cast<unsigned char>(text.text[search]) & 0xC0) == 0x80)
      ++search;
  }
  out.append(text.slice(at, text.text.size()));
  return Value::text(std::move(out));
}

}  // namespace kvasir::text::jinja
