#include <algorithm>
#include <array>
#include <utility>

#include "text/jinja/builtins.h"
#include "text/jinja/operators.h"

namespace kvasir::text::jinja {

using base::Result;

namespace {

Result<Value> get(Context&, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"key", "default"}));
  const Value* key = arguments.find(0, "key");
  if (key == nullptr) return failure("get() needs a key");
  if (!hashable(*key)) return failure("unhashable type: '{}'", key->type_name());
  if (const Value* value = subject.mapping().find(*key)) return *value;
  const Value* fallback = arguments.find(1, "default");
  return fallback != nullptr ? *fallback : Value::none();
}

enum class Part { keys, values, items };

template <Part kPart>
Result<Value> parts(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
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
  return Value::list(std::move(found));
}

Result<Value> copy(Context&, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  return subject;
}

// Templates may not change what they were given.
Result<Value> refused(Context&, const Value& subject, const Arguments&) {
  return failure("a template cannot change a {}", subject.type_name());
}

Result<Value> index(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"value"}));
  const Value* wanted = arguments.find(0, "value");
  if (wanted == nullptr) return failure("index() needs a value");
  for (std::size_t i = 0; i < subject.items().size(); ++i) {
    TRY(const bool same, compare(context, Comparator::equal, subject.items()[i], *wanted));
    if (same) return Value::number(i);
  }
  return failure("the value is not in the list");
}

Result<Value> count(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"value"}));
  const Value* wanted = arguments.find(0, "value");
  if (wanted == nullptr) return failure("count() needs a value");
  std::size_t found = 0;
  for (const Value& item : subject.items()) {
    TRY(const bool same, compare(context, Comparator::equal, item, *wanted));
    if (same) ++found;
  }
  return Value::number(found);
}

constexpr std::array<NamedOperation, 10> kDictMethods = {{
    {"get", get},
    {"keys", parts<Part::keys>},
    {"values", parts<Part::values>},
    {"items", parts<Part::items>},
    {"copy", copy},
    {"update", refused},
    {"pop", refused},
    {"popitem", refused},
    {"setdefault", refused},
    {"clear", refused},
}};

constexpr std::array<NamedOperation, 11> kListMethods = {{
    {"index", index},
    {"count", count},
    {"copy", copy},
    {"append", refused},
    {"extend", refused},
    {"insert", refused},
    {"pop", refused},
    {"remove", refused},
    {"reverse", refused},
    {"sort", refused},
    {"clear", refused},
}};

}  // namespace

std::span<const NamedOperation> dict_methods() {
  return kDictMethods;
}

std::span<const NamedOperation> list_methods() {
  return kListMethods;
}

}  // namespace kvasir::text::jinja
