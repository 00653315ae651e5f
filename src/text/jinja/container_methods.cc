#include <algorithm>
#include <array>
#include <utility>

#include "text/jinja/builtins.h"
#include "text/jinja/operators.h"

namespace kvasir::text::jinja {

using base::Result;

namespace {

Result<Value> get(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.by_position(1, 2));
  const Value* key = &arguments.positional[0];
  if (!hashable(*key)) return failure("unhashable type: '{}'", key->type_name());
  TRY_OK(context.budget.steps(key->weight()));
  if (const Value* value = subject.mapping().find(*key)) return *value;
  const Value* fallback = arguments.find(1, "");
  return fallback != nullptr ? *fallback : Value::none();
}

enum class Part { keys, values, items };

template <Part kPart>
Result<Value> parts(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.by_position(0, 0));
  const auto& entries = subject.mapping().entries();
  TRY_OK(context.budget.steps(entries.size()));
  TRY_OK(context.budget.bytes(entries.size() * (kPart == Part::items ? 128 : 32)));
  std::vector<Value> found;
  found.reserve(entries.size());
  for (const auto& [key, value] : entries) {
    if (kPart == Part::items) {
      found.push_back(Value::tuple({key, value}));
    } else {
      found.push_back(kPart == Part::keys ? key : value);
    }
  }
  constexpr auto kKind = kPart == Part::keys     ? Sequence::Kind::keys
                         : kPart == Part::values ? Sequence::Kind::values
                                                 : Sequence::Kind::pairs;
  return Value::sequence(kKind, std::move(found));
}

Result<Value> copy(Context&, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.by_position(0, 0));
  return subject;
}

Result<Value> index(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.by_position(1, 1));
  const Value* wanted = &arguments.positional[0];
  for (std::size_t i = 0; i < subject.items().size(); ++i) {
    TRY(const bool same, compare(context, Comparator::equal, subject.items()[i], *wanted));
    if (same) return Value::number(i);
  }
  return failure("the value is not in the list");
}

Result<Value> count(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.by_position(1, 1));
  const Value* wanted = &arguments.positional[0];
  std::size_t found = 0;
  for (const Value& item : subject.items()) {
    TRY(const bool same, compare(context, Comparator::equal, item, *wanted));
    if (same) ++found;
  }
  return Value::number(found);
}

constexpr std::array<NamedOperation, 5> kDictMethods = {{
    {"get", get},
    {"keys", parts<Part::keys>},
    {"values", parts<Part::values>},
    {"items", parts<Part::items>},
    {"copy", copy},
}};

constexpr std::array<NamedOperation, 3> kListMethods = {{
    {"index", index},
    {"count", count},
    {"copy", copy},
}};

}  // namespace

std::span<const NamedOperation> dict_methods() {
  return kDictMethods;
}

std::span<const NamedOperation> list_methods() {
  return kListMethods;
}

}  // namespace kvasir::text::jinja
