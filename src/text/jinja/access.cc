#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "text/jinja/ast.h"
#include "text/jinja/callable.h"
#include "text/jinja/characters.h"

namespace kvasir::text::jinja {
namespace {

Value missing(const Value& object, std::string_view name) {
  return Value::undefined(fmt::format("'{} object' has no attribute '{}'", object.type_name(), name));
}

// Returns the value of a method that would change its object: undefined, since templates may not change their
// inputs.
Value unsafe(const Value& object, std::string_view name) {
  return Value::undefined(
      fmt::format("access to attribute '{}' of '{}' object is unsafe", name, object.type_name()));
}

Value bound(const Value& object, Operation method) {
  return Value(std::make_shared<const Method>(Method{object, method}));
}

Value list_item(const Value& object, std::int64_t index) {
  const auto& items = object.items();
  const auto size = static_cast<std::int64_t>(items.size());
  if (index < 0) index += size;
  if (index < 0 || index >= size) {
    return Value::undefined(fmt::format("'{} object' has no element {}", object.type_name(), index));
  }
  return items[static_cast<std::size_t>(index)];
}

Value text_item(const Value& object, std::int64_t index) {
  const Prompt& text = object.prompt();
  if (index < 0) index += static_cast<std::int64_t>(count_characters(text.text));
  const std::size_t begin =
      index < 0 ? text.text.size() : character_offset(text.text, static_cast<std::size_t>(index));
  if (begin == text.text.size()) return Value::undefined("the string has no such character");
  return Value::text(
      text.slice(begin, begin + base::utf8_step(std::string_view(text.text).substr(begin)).size));
}

base::Result<Value> cycle(Context&, const Value& subject, const Arguments& arguments) {
  const auto* loop = subject.as<Loop*>();
  if (loop == nullptr || arguments.positional.empty()) return failure("no items for cycling given");
  TRY_OK(arguments.by_position(1, arguments.positional.size()));
  return arguments.positional[(*loop)->index % arguments.positional.size()];
}

base::Result<Value> loop_changed(Context& context, const Value& subject, const Arguments& arguments) {
  const auto* loop = subject.as<Loop*>();
  if (loop == nullptr) return failure("changed() needs a loop");
  TRY_OK(arguments.by_position(0, arguments.positional.size()));
  Value now = Value::list(arguments.positional);
  TRY_OK(context.budget.steps(now.weight()));
  const bool same = equal((*loop)->last_changed, now);
  (*loop)->last_changed = std::move(now);
  return Value(!same);
}

Value macro_attribute(const Macro& macro, std::string_view name) {
  const MacroStatement& definition = *macro.definition;
  if (name == "name") return definition.name.empty() ? Value::none() : Value::literal(definition.name);
  if (name == "catch_kwargs") return Value(definition.uses_kwargs);
  if (name == "catch_varargs") return Value(definition.uses_varargs);
  if (name == "caller") return Value(definition.uses_caller);
  if (name != "arguments") return missing(Value(&macro), name);
  std::vector<Value> names;
  for (const Parameter& parameter : definition.parameters) names.push_back(Value::literal(parameter.name));
  return Value::tuple(std::move(names));
}

}  // namespace

Value loop_attribute(Loop* loop, std::string_view name) {
  const auto& items = loop->items;
  const std::size_t index = loop->index;
  if (name == "index") return Value::number(index + 1);
  if (name == "index0") return Value::number(index);
  if (name == "revindex") return Value::number(items.size() - index);
  if (name == "revindex0") return Value::number(items.size() - index - 1);
  if (name == "first") return Value(index == 0);
  if (name == "last") return Value(index + 1 == items.size());
  if (name == "length") return Value::number(items.size());
  // `depth` counts recursive calls of one loop, not nested loops.
  if (name == "depth") return Value(std::int64_t{loop->depth} + 1);
  if (name == "depth0") return Value(std::int64_t{loop->depth});
  if (name == "previtem") return index > 0 ? items[index - 1] : Value::undefined("there is no previous item");
  if (name == "nextitem") {
    return index + 1 < items.size() ? items[index + 1] : Value::undefined("there is no next item");
  }
  if (name == "cycle") return bound(Value(loop), cycle);
  if (name == "changed") return bound(Value(loop), loop_changed);
  return missing(Value(loop), name);
}

Value attribute_of(const Value& object, std::string_view name) {
  if (const auto* loop = object.as<Loop*>()) return loop_attribute(*loop, name);
  if (const auto* macro = object.as<const Macro*>()) return macro_attribute(**macro, name);
  if (object.is(Sequence::Kind::group)) {
    if (name == "grouper") return object.items()[0];
    if (name == "list") return object.items()[1];
  }
  if (const auto* space = object.as<Namespace*>()) {
    const auto found = (*space)->members.find(std::string(name));
    return found == (*space)->members.end() ? missing(object, name) : *found->second;
  }
  if (is_changing_method(object, name)) return unsafe(object, name);
  if (const Operation method = find_method(object, name)) return bound(object, method);
  if (object.is_dict()) {
    if (const Value* value = object.mapping().find(name)) return *value;
  }
  return missing(object, name);
}

Value item_of(const Value& object, const Value& key) {
  if (object.is_dict() && hashable(key)) {
    if (const Value* value = object.mapping().find(key)) return *value;
  }
  if (key.is_integer()) {
    if (object.is_indexed()) return list_item(object, key.integer());
    if (object.is_text()) return text_item(object, key.integer());
  }
  if (!key.is_text()) return missing(object, to_repr(key).text);
  return attribute_of(object, key.str());
}

base::Error undefined_error(const Value& value) {
  const auto* undefined = value.as<Undefined>();
  return failure("{}", undefined != nullptr && undefined->why ? *undefined->why : "the value is undefined");
}

base::Result<std::vector<Value>> iterate(Context& context, const Value& value) {
  std::vector<Value> items;
  if (value.is_sequence()) {
    TRY_OK(context.budget.steps(value.items().size()));
    TRY_OK(context.budget.bytes(value.items().size() * kValueBytes));
    if (!value.is_iterator()) return value.items();
    std::size_t& taken = value.sequence().num_taken;
    items.assign(value.items().begin() + static_cast<std::ptrdiff_t>(taken), value.items().end());
    taken = value.items().size();
    return items;
  }
  if (value.is_dict()) {
    const auto& entries = value.mapping().entries();
    TRY_OK(context.budget.steps(entries.size()));
    TRY_OK(context.budget.bytes(entries.size() * kValueBytes));
    items.reserve(entries.size());
    for (const auto& entry : entries) items.push_back(entry.first);
    return items;
  }
  if (value.is_text()) {
    // Each character becomes a value.
    TRY_OK(context.budget.steps(value.str().size()));
    TRY_OK(context.budget.bytes(value.str().size() * (sizeof(Prompt) + kValueBytes)));
    const auto offsets = character_offsets(value.str());
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      items.push_back(Value::text(value.prompt().slice(offsets[i], offsets[i + 1])));
    }
    return items;
  }
  if (value.is_undefined()) return items;
  return failure("'{}' object is not iterable", value.type_name());
}

base::Result<Prompt> printed(Context& context, const Value& value) {
  TRY_OK(context.budget.steps(value.weight()));
  Prompt text = to_text(value);
  TRY_OK(context.budget.bytes(text.text.size()));
  return text;
}

}  // namespace kvasir::text::jinja
