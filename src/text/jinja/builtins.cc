#include "text/jinja/builtins.h"

#include <utility>

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
  return find_in({text_filters(), value_filters(), list_filters(), selection_filters()}, name);
}

Operation find_method(const Value& subject, std::string_view name) {
  if (subject.is_text()) return find_in({text_methods(), text_predicates()}, name);
  if (subject.is_dict()) return find_in({dict_methods()}, name);
  if (subject.is_list()) return find_in({list_methods()}, name);
  return nullptr;
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

Value path_of(const Value& object, const Value& path) {
  if (!path.is_text()) return item_of(object, path);
  Value at = object;
  std::string_view rest = path.str();
  while (true) {
    const std::size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    const bool number =
        !part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == std::string_view::npos;
    if (at.is_undefined()) return at;
    at = item_of(at, number ? Value(std::int64_t{std::stoi(std::string(part))}) : Value::literal(part));
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

// replace(old, new, count): as str.replace, an empty `old` stands before every character and at the end.
Result<Value> replaced(Context& context, const Prompt& text, const Arguments& arguments) {
  TRY_OK(arguments.only({"old", "new", "count"}));
  TRY(const std::string from, text_argument(arguments.find(0, "old"), ""));
  const Value* to = arguments.find(1, "new");
  if (to == nullptr || !to->is_text()) return failure("replace() needs two strings");
  TRY(std::int64_t count, integer_argument(arguments.find(2, "count"), -1));
  TRY_OK(context.budget.steps(text.text.size() / 16));
  TRY_OK(context.budget.bytes(text.text.size()));
  Prompt out;
  std::size_t at = 0;
  std::size_t search = 0;
  for (; count != 0; --count) {
    const std::size_t found = text.text.find(from, search);
    if (found == std::string::npos) break;
    TRY_OK(context.budget.bytes(to->str().size()));
    TRY_OK(context.budget.steps(1));
    out.append(text.slice(at, found));
    out.append(to->prompt());
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
